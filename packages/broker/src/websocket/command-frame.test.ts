import { type EntryId, type LedgerId, messageIdText } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { readCommand, readReaderCommand, scanAcknowledgement } from './command-frame.js';

const read = (frame: string) => readCommand(Buffer.from(frame));

t.test('consumer command: each of the known ones → read', async (t) => {
  t.strictSame(read('{"messageId":"CDsQADAA"}'), { kind: 'acknowledge', position: { ledgerId: 59, entryId: 0 } });
  t.strictSame(read('{"messageId":"CDsQAA=="}'), { kind: 'acknowledge', position: { ledgerId: 59, entryId: 0 } });
  t.strictSame(read('{"messageId":"CDsQAA"}'), { kind: 'acknowledge', position: { ledgerId: 59, entryId: 0 } });
  t.strictSame(read('{"type":"nope","messageId":"CDsQATAA"}'), { kind: 'acknowledge', position: { ledgerId: 59, entryId: 1 } });
  t.strictSame(read('{"type":5,"messageId":"CDsQATAA"}'), { kind: 'acknowledge', position: { ledgerId: 59, entryId: 1 } });
  t.strictSame(read('{"type":"negativeAcknowledge","messageId":"CDsQATAA"}'), {
    kind: 'negative-acknowledge',
    position: { ledgerId: 59, entryId: 1 },
  });
  t.strictSame(read('{"type":"permit","permitMessages":7}'), { kind: 'permit', count: 7 });
  t.strictSame(read('{"type":"permit","permitMessages":"7"}'), { kind: 'permit', count: 7 });
  t.strictSame(read('{"type":"permit","permitMessages":0}'), { kind: 'permit', count: 0 });
  t.strictSame(read('{"type":"unsubscribe"}'), { kind: 'unsubscribe' });
  t.strictSame(read('{"type":"isEndOfTopic"}'), { kind: 'is-end-of-topic' });
});

t.test('consumer command: ids that nothing here can have → no effect', async (t) => {
  for (const id of ['CP//////////fxAA', 'CP///////////wEQ////////////ATAA', 'CP//////////fxD//////////38wAA==']) {
    t.strictSame(read(`{"messageId":"${id}"}`), { kind: 'nothing' }, id);
  }
});

t.test('consumer command: malformed ones → close 4003 with the reason in words', async (t) => {
  const frames: [string, RegExp][] = [
    ['', /JSON/],
    ['{bad', /JSON/],
    ['[]', /object/],
    ['7', /object/],
    ['""', /object/],
    ['null', /object/],
    ['{}', /messageId/],
    ['{"messageId":null}', /messageId/],
    ['{"messageId":5}', /messageId/],
    ['{"messageId":"***"}', /base64 character 2a/],
    ['{"messageId":""}', /messageId/],
    ['{"messageId":"AAAA"}', /messageId/],
    ['{"messageId":"CAoQ"}', /messageId/],
    ['{"messageId":"////"}', /messageId/],
    ['{"type":"nope"}', /messageId/],
    ['{"type":{}}', /type/],
    ['{"type":"negativeAcknowledge"}', /messageId/],
    ['{"type":"permit"}', /permitMessages/],
    ['{"type":"permit","permitMessages":"x"}', /permitMessages/],
    ['{"type":"permit","permitMessages":-1}', /permitMessages/],
    ['{"type":"permit","permitMessages":99999999999}', /permitMessages/],
    ['{"type":"permit","permitMessages":[1]}', /permitMessages/],
  ];
  for (const [frame, reason] of frames) t.match(read(frame), { kind: 'malformed', code: 4003, reason }, frame);
});

t.test('reader command: objects that name a message acknowledge it, others have no effect, what is no object ends the session', async (t) => {
  const table: [string, object][] = [
    ['{"messageId":"CDsQAA=="}', { kind: 'acknowledge', position: { ledgerId: 59, entryId: 0 } }],
    ['{"type":"negativeAcknowledge","messageId":"CDsQATAA"}', { kind: 'acknowledge', position: { ledgerId: 59, entryId: 1 } }],
    ['{"type":"isEndOfTopic"}', { kind: 'is-end-of-topic' }],
    ['{}', { kind: 'nothing' }],
    ['{"messageId":"***"}', { kind: 'nothing' }],
    ['{"type":"permit"}', { kind: 'nothing' }],
    ['{"type":"unsubscribe"}', { kind: 'nothing' }],
    ['{bad', { kind: 'malformed', code: 4003 }],
    ['7', { kind: 'malformed', code: 4003 }],
    ['null', { kind: 'malformed', code: 4003 }],
  ];
  for (const [frame, command] of table) t.match(readReaderCommand(Buffer.from(frame)), command, frame);
});

t.test('consumer command: any stored id → the byte scan and the parser read the same place', async (t) => {
  const number = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.maxSafeInteger().map(Math.abs));
  fc.assert(
    fc.property(number, number, fc.integer({ min: -1, max: 70_000 }), (ledgerId, entryId, partition) => {
      const frame = Buffer.from(`{"messageId":"${messageIdText(ledgerId as LedgerId, entryId as EntryId, partition, -1, 0)}"}`);
      t.strictSame(readCommand(frame), { kind: 'acknowledge', position: { ledgerId, entryId } });
      const scanned = scanAcknowledgement(frame);
      if (ledgerId < 2 ** 49 && entryId < 2 ** 49) t.strictSame(scanned, { ledgerId, entryId });
    }),
  );
});

t.test('consumer command: an id with a byte changed or cut off → the scan never reads what the parser reads differently', async (t) => {
  const valid = Buffer.from(messageIdText(300 as LedgerId, 77 as EntryId, 2, -1, 0), 'base64');
  let scannedCount = 0;
  for (let at = 0; at < valid.length; at++) {
    for (let byte = 0; byte < 256; byte++) {
      const bytes = Buffer.from(valid);
      bytes[at] = byte;
      for (const text of [bytes.toString('base64'), bytes.subarray(0, at + 1).toString('base64')]) {
        const frame = Buffer.from(`{"messageId":"${text}"}`);
        const scanned = scanAcknowledgement(frame);
        if (scanned === undefined) continue;
        scannedCount++;
        const command = readCommand(frame);
        if (command.kind !== 'acknowledge' || command.position.ledgerId !== scanned.ledgerId || command.position.entryId !== scanned.entryId) {
          t.strictSame(command, { kind: 'acknowledge', position: scanned }, text);
        }
      }
    }
  }
  t.ok(scannedCount > 500, `${scannedCount} ids scanned`);
});
