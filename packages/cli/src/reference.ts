// What the generated pages of `docs/` describe. Not loaded by the command itself.
export { autoRecoveryProcessConfigSchema } from './autorecovery-config.js';
export { bookieProcessConfigSchema } from './bookie-process-config.js';
export { brokerProcessConfigSchema } from './broker-config.js';
export { cliErrors } from './errors.js';
export { otherVariables } from './settings.js';
export { shellErrors } from './shell/errors.js';
export { standaloneConfigSchema } from './standalone-config.js';
