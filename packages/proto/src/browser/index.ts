/** The part of this package that runs in browsers: no module below imports anything of Node. Bundlers take `@daybook/proto/browser`. */
export { protoErrors } from '../errors.js';
export * from '../ids.js';
export { type JsonLimits, jsonLimitsDefault, parseJson, stringifyJson } from '../json.js';
export * from '../message-id.js';
export * from '../topic-name.js';
