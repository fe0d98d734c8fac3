import { messageIdText } from '@daybook/proto';
import type { StoredEntry } from '../managed-ledger/managed-ledger-api.js';
import { jsonText } from './answer-frames.js';
import type { DecodedEntry } from './entry-codec.js';
import { isoTime } from './iso-time.js';

/** A message as consumers and readers get it (octets); the order of the members is Pulsar's. `partition` is -1 for none. */
export function deliveryText(entry: StoredEntry, message: DecodedEntry, redeliveryCount: number, partition: number): string {
  const { ledgerId, entryId } = entry.position;
  const payload = entry.payload.toString('base64', message.payloadOffset, entry.payload.length);
  const id = messageIdText(ledgerId, entryId, partition, -1, 0);
  let text = `{"messageId":"${id}","payload":"${payload}","properties":${propertiesText(message.properties)},"publishTime":"${isoTime(message.publishTimeMs)}","redeliveryCount":${redeliveryCount}`;
  if (message.eventTimeMs !== 0) text += `,"eventTime":"${isoTime(message.eventTimeMs)}"`;
  if (message.key !== undefined) text += `,"key":${jsonText(message.key)}`;
  return `${text}}`;
}

function propertiesText(properties: DecodedEntry['properties']): string {
  if (properties.length === 0) return '{}';
  return `{${properties.map(({ key, value }) => `${jsonText(key)}:${jsonText(value)}`).join(',')}}`;
}
