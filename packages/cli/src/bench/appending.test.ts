import type { AppendListener, LedgerWriter } from '@daybook/ledger';
import type { EntryId } from '@daybook/proto';
import t from 'tap';
import { Appending } from './appending.js';
import { Latencies } from './latencies.js';

/** A writer whose confirmations the test gives. */
class FakeWriter {
  listener: AppendListener | undefined;
  pushed = 0;
  isFull = false;
  drain: (() => void) | undefined;
  listen(listener: AppendListener): void {
    this.listener = listener;
  }
  push(): EntryId {
    return this.pushed++ as EntryId;
  }
  onDrain(task: () => void): void {
    this.drain = task;
  }
  confirm(last: number): void {
    this.listener?.confirmed(last as EntryId);
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

function start(unansweredMax: number): { writer: FakeWriter; appending: Appending; latencies: Latencies; failures: string[] } {
  const writer = new FakeWriter();
  const latencies = new Latencies();
  const failures: string[] = [];
  const appending = new Appending({
    writer: writer as unknown as LedgerWriter,
    entryBytes: 8,
    unansweredMax,
    latencies,
    onFailure: (why) => failures.push(why),
  });
  return { writer, appending, latencies, failures };
}

t.test('appending: confirmations come -> as many are pushed again, each counted once', async (t) => {
  const { writer, appending, latencies } = start(3);
  t.equal(writer.pushed, 3);
  writer.confirm(1);
  await turn();
  t.equal(writer.pushed, 5);
  t.equal(appending.confirmed, 2);
  writer.confirm(4);
  t.equal(latencies.count, 5);
});

t.test('appending: the window is full -> nothing more until it drains', async (t) => {
  const { writer } = start(10);
  writer.isFull = true;
  writer.confirm(4);
  await turn();
  t.equal(writer.pushed, 10);
  writer.isFull = false;
  writer.drain?.();
  await turn();
  t.equal(writer.pushed, 15);
});

t.test('appending: stopped -> resolves with the last confirmation, pushes nothing more', async (t) => {
  const { writer, appending } = start(4);
  const stopped = appending.stop();
  writer.confirm(1);
  await turn();
  t.equal(writer.pushed, 4);
  writer.confirm(3);
  await stopped;
  t.equal(appending.confirmed, 4);
});

t.test('appending: the writer fails -> told', async (t) => {
  const { writer, failures } = start(1);
  writer.listener?.failed(new Error('fenced'), -1 as EntryId);
  t.same(failures, ['fenced']);
});
