import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { type ConnectionOptions, clientOf, withConnection } from './connection.js';
import { property } from './option-values.js';

interface ProduceOptions extends ConnectionOptions {
  message?: string[];
  key?: string;
  property: Record<string, string>;
  quiet?: boolean;
}

export function command(): Command {
  return withConnection(new Command('produce'))
    .description('Publish messages: those given with -m, else one per line of standard input. Prints the id of each once it is stored durably.')
    .argument('<topic>', 'TOPIC, TENANT/NAMESPACE/TOPIC or persistent://TENANT/NAMESPACE/TOPIC')
    .option('-m, --message <text...>', 'message texts')
    .option('-k, --key <key>', 'key of the messages')
    .option('-p, --property <name=value>', 'property of the messages, may be repeated', property, {})
    .option('-q, --quiet', 'print no ids')
    .addHelpText('after', "\nExamples:\n  daybook produce orders -m 'first' 'second'\n  seq 1000 | daybook produce orders -q")
    .action(produce);
}

async function produce(topic: string, options: ProduceOptions): Promise<void> {
  const producer = await clientOf(options).producer(topic);
  const sending: Promise<void>[] = [];
  const send = async (text: string): Promise<void> => {
    const id = await producer.send(text, { ...(options.key === undefined ? {} : { key: options.key }), properties: options.property });
    if (!options.quiet) process.stdout.write(`${id}\n`);
  };
  if (options.message !== undefined) for (const text of options.message) sending.push(send(text));
  else
    for await (const line of createInterface({ input: process.stdin })) {
      sending.push(send(line));
      if (sending.length >= 1_000) await Promise.all(sending.splice(0));
    }
  await Promise.all(sending);
  await producer.close();
}
