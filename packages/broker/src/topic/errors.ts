import { defineErrors } from '@daybook/runtime';

export const topicErrors = defineErrors('TOPIC', {
  NOT_FOUND: { retry: 'never', text: (topic: string) => `Topic ${topic} not found` },
  EXISTS: { retry: 'never', text: () => 'This topic already exists' },
  NAMESPACE_NOT_FOUND: { retry: 'never', text: () => 'Namespace not found' },
  RECENTLY_DELETED: {
    retry: 'later',
    text: (topic: string) => `${topic} was deleted a moment ago and is not created by itself again yet: create it, or wait a few seconds`,
  },
  IN_USE: { retry: 'never', text: (count: number) => `Topic has ${count} connected producers/consumers` },
  PRODUCER_BUSY: {
    retry: 'later',
    text: (name: string, topic?: string) => `Producer with name '${name}' is already connected to topic${topic === undefined ? '' : ` '${topic}'`}`,
  },
  CONSUMER_BUSY: { retry: 'later', text: (detail: string) => detail },
  SUBSCRIPTION_EXISTS: { retry: 'never', text: () => 'Subscription already exists for topic' },
  SUBSCRIPTION_NOT_FOUND: {
    retry: 'never',
    text: (subscription: string, topic: string) => `Subscription ${subscription} not found for topic ${topic}`,
  },
  SUBSCRIPTION_IN_USE: { retry: 'never', text: () => 'Subscription has active connected consumers' },
  UNSUPPORTED: { retry: 'never', text: (what: string) => `${what} is not supported by this version of Daybook` },
  UNAVAILABLE: { retry: 'later', text: (topic: string, why: string) => `${topic} cannot be served right now: ${why}` },
  OWNED_ELSEWHERE: { retry: 'later', text: (topic: string, broker: string) => `${topic} is served by broker ${broker}` },
  TOO_LARGE: { retry: 'never', text: (bytes: number, max: number) => `Message size ${bytes} is larger than the limit of ${max} bytes` },
});
