import { Command, InvalidArgumentError } from 'commander';
import type { ConsumeBenchOptions, EndToEndBenchOptions, LedgerBenchOptions, ProduceBenchOptions } from './bench/bench-options.js';
import { withConnection } from './connection.js';
import { property, wholeNumber } from './option-values.js';

export function command(): Command {
  const bench = new Command('bench')
    .description('Measure a running broker or cluster (produce, consume, e2e), or the ledger client alone (ledger).')
    .addHelpText(
      'after',
      `
The load generator writes WebSocket frames by hand, so that it costs less than what it measures. A warm-up is left out of all figures. Compare runs only on
the same machine, and better in turns: figures move by a third with what else goes on.

Examples:
  daybook bench produce --size 1024 --outstanding 1000 --seconds 10
  daybook bench consume --messages 60000
  daybook bench e2e --rate 2000 --pids $(pgrep -f 'daybook.js standalone')
  daybook bench produce --cluster ./cluster --json
  daybook bench ledger --size 100 --outstanding 1`,
    );
  bench.addCommand(produceCommand());
  bench.addCommand(consumeCommand());
  bench.addCommand(endToEndCommand());
  bench.addCommand(ledgerCommand());
  return bench;
}

function withLoad(command: Command): Command {
  return command
    .option('--size <bytes>', 'payload of a message or entry', wholeNumber(1, 5 * 1024 * 1024), 1024)
    .option('--seconds <count>', 'how long to measure', wholeNumber(1, 86_400), 10)
    .option('--warm-up <seconds>', 'how long to run before', wholeNumber(0, 3_600), 3)
    .option('--json', 'a last line with all figures as JSON')
    .option('--pids <list>', 'count the CPU of these processes too, comma-separated', pids);
}

function withBroker(command: Command): Command {
  return withLoad(withConnection(command))
    .argument('[topic]', 'default: a new one')
    .option('--cluster <folder>', "count the CPU of all members of the 'daybook cluster' in this folder");
}

function pids(text: string): number[] {
  const list = text.split(/[\s,]+/).filter((part) => part !== '');
  if (list.length === 0 || list.some((part) => !/^\d+$/.test(part))) throw new InvalidArgumentError('Write process ids, separated by commas.');
  return list.map(Number);
}

function produceCommand(): Command {
  return withBroker(new Command('produce'))
    .description('How many messages per second are acknowledged when a fixed number is always under way.')
    .option('--outstanding <count>', 'messages unanswered on each socket', wholeNumber(1, 1_000_000), 1_000)
    .option('--sockets <count>', 'producers', wholeNumber(1, 10_000), 1)
    .action(async (topic: string | undefined, options: ProduceBenchOptions) => {
      const { benchProduce } = await import('./bench/bench-produce.js');
      await benchProduce(topic, options);
    });
}

function consumeCommand(): Command {
  return withBroker(new Command('consume'))
    .description(
      'How many messages per second of a backlog one consumer gets that acknowledges each. Fills the topic first; --seconds and --warm-up do not apply.',
    )
    .option('--messages <count>', 'size of the backlog', wholeNumber(10), 60_000)
    .option('--queue <count>', 'receiverQueueSize', wholeNumber(1, 1_000), 1_000)
    .action(async (topic: string | undefined, options: ConsumeBenchOptions) => {
      const { benchConsume } = await import('./bench/bench-consume.js');
      await benchConsume(topic, options);
    });
}

function endToEndCommand(): Command {
  return withBroker(new Command('e2e'))
    .description('Latency at a steady rate: until the acknowledgement, and until a consumer has the message.')
    .option('--rate <count>', 'messages per second', wholeNumber(1, 1_000_000), 2_000)
    .action(async (topic: string | undefined, options: EndToEndBenchOptions) => {
      const { benchEndToEnd } = await import('./bench/bench-e2e.js');
      await benchEndToEnd(topic, options);
    });
}

function ledgerCommand(): Command {
  return withLoad(new Command('ledger'))
    .description('The ledger client alone. Starts ZooKeeper and bookies of its own in a temporary folder, unless --metadata names a cluster.')
    .option('--metadata <url>', 'use this cluster, zk://HOST:PORT/PATH')
    .option('--bookies <count>', 'how many to start', wholeNumber(1, 32), 3)
    .option('-e, --ensemble <count>', 'bookies the entries are spread over', wholeNumber(1, 32), 3)
    .option('-w, --write-quorum <count>', 'copies of each entry', wholeNumber(1, 32), 3)
    .option('-a, --ack-quorum <count>', 'copies on disk before an entry is confirmed', wholeNumber(1, 32), 2)
    .option('--outstanding <count>', 'entries unconfirmed', wholeNumber(1, 1_000_000), 1_000)
    .option('--set <name=value>', 'a setting of the bookies that are started, may be repeated', property, {})
    .action(async (options: LedgerBenchOptions) => {
      const { benchLedger } = await import('./bench/bench-ledger.js');
      await benchLedger(options);
    });
}
