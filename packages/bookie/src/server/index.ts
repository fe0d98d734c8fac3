export {
  type AdminMethod,
  type AdminRequest,
  type AdminRoute,
  booleanField,
  booleanParameter,
  choiceParameter,
  numberParameter,
  objectBody,
  optionalNumber,
} from './admin-route.js';
export { type BookieRoutesOptions, bookieRoutes } from './bookie-routes.js';
export { type GarbageControl, garbageRoutes } from './garbage-routes.js';
export { bookieHttpErrors } from './http-errors.js';
