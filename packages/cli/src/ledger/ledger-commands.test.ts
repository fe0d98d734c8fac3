import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import t from 'tap';
import { Daybook, runDaybook, temporaryFolder } from '../testing/run-daybook.js';
import { append, payloadText } from './ledger-commands.js';

t.test('payload: text -> itself, anything else -> base64', async (t) => {
  t.equal(payloadText(Buffer.from('grüße\tan 🌍')), 'grüße\tan 🌍');
  t.equal(payloadText(Buffer.from('two\nlines')), `base64:${Buffer.from('two\nlines').toString('base64')}`);
  t.equal(payloadText(Buffer.from([0xff, 0x00])), 'base64:/wA=');
});

t.test('append: to an existing ledger -> CLI_USAGE before anything is connected', async (t) => {
  const options = { password: '', ensemble: 1, writeQuorum: 1, ackQuorum: 1, digest: 'CRC32C' as const, property: {} };
  t.throws(() => append('7', options), { code: 'CLI_USAGE', message: /one writer/ });
});

t.test('daybook ledger: against a bookie', { skip: process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1' }, async (t) => {
  const zookeeper = await ZooKeeperServer.start();
  t.teardown(() => zookeeper.stop());
  const DAYBOOK_METADATA = `zk://${zookeeper.address}/daybook`;
  const bookie = new Daybook(['bookie', '--bookie-id', 'b1', '--data', temporaryFolder(t), '--port', '0', '--http-port', '0'], { DAYBOOK_METADATA });
  t.teardown(() => bookie.end());
  await bookie.printed(/is ready/);
  const run = (words: string[]) => runDaybook(['ledger', ...words], { DAYBOOK_METADATA });
  const one = ['-e', '1', '-w', '1', '-a', '1'];

  await t.test('ledger: append and close -> read and info tell the same', async (t) => {
    const appended = await run(['append', ...one, '-m', 'first', 'second', '--close', '--password', 'secret', '--property', 'owner=me']);
    t.equal(appended.code, 0, appended.errors);
    t.match(appended.output, /^ledger \d+\n0\n1\nclosed: last entry 1, 11 bytes\n$/);
    const id = /ledger (\d+)/.exec(appended.output)?.[1] as string;
    t.equal((await run(['read', id, '--password', 'secret'])).output, '0\tfirst\n1\tsecond\n');
    t.equal((await run(['read', id, '--password', 'secret', '--first', '1', '--last', '1'])).output, '1\tsecond\n');
    const json = (await run(['read', id, '--password', 'secret', '--last', '0', '--json'])).output;
    t.same(JSON.parse(json), { ledgerId: Number(id), entryId: 0, bytes: 5, payload: 'Zmlyc3Q=', text: 'first' });
    const facts = JSON.parse((await run(['info', id, '--password', 'secret', '--json'])).output) as Record<string, unknown>;
    t.match(facts, { state: 'CLOSED', lastEntryId: 1, length: 11, lastAddConfirmed: 1, customMetadata: { owner: 'me' }, bookies: { b1: 'up' } });
    const wrong = await run(['read', id, '--password', 'other']);
    t.equal(wrong.code, 1);
    t.match(wrong.errors, /password for ledger/);
  });

  await t.test('ledger: lines of standard input, left open -> recovery finds all of them', async (t) => {
    const appending = new Daybook(['ledger', 'append', ...one, '--quiet'], { DAYBOOK_METADATA });
    appending.input(Array.from({ length: 2_500 }, (_none, index) => `line ${index}\n`).join(''));
    const id = /^ledger (\d+)\n$/.exec((await appending.ended).output)?.[1] as string;
    t.match((await run(['info', id])).output, /state +OPEN/);
    const recovered = (await run(['read', id, '--recover'])).output.trimEnd().split('\n');
    t.equal(recovered.length, 2_500);
    t.equal(recovered.at(-1), '2499\tline 2499');
    t.match((await run(['info', id])).output, /state +CLOSED/);
  });

  await t.test('ledger: created empty -> listed, nothing to read', async (t) => {
    const id = (await run(['create', ...one])).output.trim();
    t.ok((await run(['list'])).output.split('\n').includes(id));
    const { code, output } = await run(['read', id]);
    t.same([code, output], [0, '']);
  });

  await t.test('ledger: too few bookies, no such ledger -> exit code 1, one line', async (t) => {
    const few = await run(['create']);
    t.equal(few.code, 1);
    t.match(few.errors, /^daybook: 3 writable bookies are needed; up: b1.*\n$/);
    const none = await run(['info', '424242']);
    t.equal(none.code, 1);
    t.match(none.errors, /^daybook: there is no ledger 424242: .*\n$/);
  });
});
