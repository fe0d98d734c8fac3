import type { Message } from '@daybook/client';
import { Command, Option } from 'commander';
import { type ConnectionOptions, clientOf, withConnection } from './connection.js';
import { wholeNumber } from './option-values.js';

interface ConsumeOptions extends ConnectionOptions {
  subscription: string;
  type: 'Exclusive' | 'Shared';
  position: 'Latest' | 'Earliest';
  count?: number;
  json?: boolean;
}

export function command(): Command {
  return withConnection(new Command('consume'))
    .description(
      'Receive messages of a subscription, print each payload on a line, and acknowledge it. Runs until interrupted, or until --count messages came.',
    )
    .argument('<topic>', 'TOPIC, TENANT/NAMESPACE/TOPIC or persistent://TENANT/NAMESPACE/TOPIC')
    .requiredOption('-s, --subscription <name>', 'the subscription; made when it is new')
    .addOption(new Option('-t, --type <type>', 'how consumers share it').choices(['Exclusive', 'Shared']).default('Exclusive'))
    .addOption(new Option('-p, --position <position>', 'where a new subscription begins').choices(['Latest', 'Earliest']).default('Latest'))
    .option('-n, --count <count>', 'stop after so many messages', wholeNumber(1))
    .option('--json', 'print id, key, properties and times too, as one JSON object per line')
    .addHelpText('after', '\nExamples:\n  daybook consume orders -s billing\n  daybook consume orders -s audit -p Earliest -n 10 --json')
    .action(consume);
}

function line(message: Message, asJson: boolean | undefined): string {
  if (!asJson) return message.text;
  const { messageId, text, key, properties, publishTime, eventTime, redeliveryCount } = message;
  return JSON.stringify({ messageId, payload: text, key, properties, publishTime, eventTime, redeliveryCount });
}

async function consume(topic: string, options: ConsumeOptions): Promise<void> {
  const consumer = await clientOf(options).consumer(topic, options.subscription, {
    subscriptionType: options.type,
    subscriptionInitialPosition: options.position,
  });
  const stop = (): void => consumer.close();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  let received = 0;
  for await (const message of consumer) {
    process.stdout.write(`${line(message, options.json)}\n`);
    consumer.acknowledge(message);
    if (++received === options.count) consumer.close();
  }
}
