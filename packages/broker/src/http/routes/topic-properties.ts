import { jsonAnswer, noContent, Unreadable } from '../answer.js';
import type { Call } from '../call.js';
import { isJsonObject } from '../json-body.js';
import type { Router } from '../router.js';
import { onTopic, type RouteContext } from './route-context.js';

const path = '/admin/v2/persistent/:tenant/:namespace/:topic/properties';

/** Texts that users keep with a topic. PUT adds to what is there, DELETE takes one key away. */
export function addTopicProperties(router: Router, context: RouteContext): void {
  router
    .add('GET', path, (call) => onTopic(context, call, call.topic('persistent'), ({ properties }) => jsonAnswer(Object.fromEntries(properties))))
    .add('PUT', path, (call) => {
      const given = propertiesOf(call);
      return onTopic(context, call, call.topic('persistent'), async (topic) => {
        if (given.size > 0) {
          await topic.setProperties((properties) => {
            for (const [key, value] of given) properties.set(key, value);
          });
        }
        return noContent;
      });
    })
    .add('DELETE', path, (call) => {
      const key = call.query.get('key');
      if (key === undefined || key === '') throw new Unreadable('which property? DELETE .../properties?key=NAME');
      return onTopic(context, call, call.topic('persistent'), async (topic) => {
        if (topic.properties.has(key)) await topic.setProperties((properties) => properties.delete(key));
        return noContent;
      });
    });
}

export function propertiesOf(call: Call): ReadonlyMap<string, string> {
  const body = call.json();
  if (body === undefined || body === null) return new Map();
  if (!isJsonObject(body)) throw new Unreadable('the properties of a topic are a JSON object of texts');
  const properties = new Map<string, string>();
  for (const [key, value] of Object.entries(body)) {
    if (typeof value === 'object') throw new Unreadable(`the property ${key} is a text`);
    properties.set(key, String(value));
  }
  return properties;
}
