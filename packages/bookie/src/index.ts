export { type Bookie, type BookieMetadata, type BookieOptions, openBookie, type Registration } from './bookie.js';
export type { BookieState } from './bookie-service.js';
export { type BookieConfig, type BookieConfigInput, bookieConfigSchema } from './config.js';
export type { CookieRecords, Identity } from './cookie.js';
export { bookieErrors } from './errors.js';
export { type BookieLimits, bookieLimits } from './limits.js';
export { type BookieMetadataOptions, bookieMetadata } from './registration.js';
export { type BookieHttp, type BookieHttpOptions, bookieHttpErrors, startBookieHttp } from './server/http-admin.js';
