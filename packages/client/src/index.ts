export { AdminClient } from './admin.js';
export { Client, type ClientOptions, type ReaderOptions } from './client.js';
export { Consumer, type ConsumerOptions, Reader } from './consumer.js';
export { ClientError, type ClientErrorCode } from './errors.js';
export type { Message } from './message.js';
export { Producer, type ProducerOptions, type SendOptions } from './producer.js';
export { topicPath } from './topic-path.js';
