import { type EntryId, type LedgerId, messageIdText } from '@daybook/proto';
import type { SendErrorCode } from './publish-request.js';

/**
 * Frames to clients. All texts here are "octet texts": one character per byte of UTF-8, so that a whole turn's frames can be joined as text and written
 * with the cheap latin1 encoding.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: everything in ASCII.
const ascii = /^[\x00-\x7f]*$/;

export function octets(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** A JSON text as octets. */
export function jsonText(text: string): string {
  return octets(JSON.stringify(text));
}

const plain = /^[A-Za-z0-9_.:+/= -]*$/;

/** As {@link jsonText}; cheap for what contexts mostly are. */
function jsonContext(context: string): string {
  return plain.test(context) ? `"${context}"` : jsonText(context);
}

/** The answer to a stored message; `partition` is -1 for none. */
export function storedAnswer(ledgerId: LedgerId, entryId: EntryId, partition: number, context: string | undefined): string {
  const id = messageIdText(ledgerId, entryId, partition, -1, 0);
  if (context === undefined) return `{"result":"ok","messageId":"${id}","errorCode":0,"schemaVersion":0}`;
  return `{"result":"ok","messageId":"${id}","context":${jsonContext(context)},"errorCode":0,"schemaVersion":0}`;
}

export function errorAnswer(code: SendErrorCode, text: string, context: string | undefined): string {
  const echoed = context === undefined ? '' : `,"context":${jsonContext(context)}`;
  return `{"result":"send-error:${code}","errorMsg":${jsonText(text)}${echoed},"errorCode":0,"schemaVersion":0}`;
}

export function endOfTopicAnswer(isEnd: boolean): string {
  return isEnd ? '{"endOfTopic":true}' : '{"endOfTopic":false}';
}
