import { Acknowledger, findLosses, type Published, Publisher, readAll } from './clients.js';
import { DaybookProcess, freePort, isHealthy, pause, temporaryFolder, until } from './processes.js';

export interface KillRounds {
  rounds: number;
  log(line: string): void;
}

export interface KillResult {
  problems: string[];
  acknowledged: number;
  /** From process start to healthy, after each kill. */
  readyMs: number[];
}

const topic = 'persistent/public/default/chaos';
/** An acknowledgement of a consumer older than this must not be undone by a kill (promise of the broker, pulsar-behaviour: durable within 1 s). */
const ackDurableWithinMs = 1_000;

/** kill -9 of `daybook standalone` under load at random moments, again and again on the same data. */
export async function killStandalone({ rounds, log }: KillRounds): Promise<KillResult> {
  const folder = temporaryFolder();
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const sockets = `ws://127.0.0.1:${port}/ws/v2`;
  const result: KillResult = { problems: [], acknowledged: 0, readyMs: [] };
  const published: Published[] = [];
  const ackedAtMs = new Map<number, number>();
  const start = async (): Promise<DaybookProcess> => {
    const standalone = new DaybookProcess(['standalone', '--port', String(port), '--data', folder.path]);
    result.readyMs.push(await until(`healthy again (output: ${standalone.output.slice(-500)})`, 30_000, () => isHealthy(base)));
    return standalone;
  };
  let standalone = await start();
  try {
    for (const name of ['keep', 'acked'])
      await fetch(`${base}/admin/v2/${topic}/subscription/${name}`, {
        method: 'PUT',
        body: '"earliest"',
        headers: { 'content-type': 'application/json' },
      });
    let next = 0;
    for (let round = 1; round <= rounds; round++) {
      const publisher = new Publisher([`${sockets}/producer/${topic}`], next);
      const acknowledger = new Acknowledger([`${sockets}/consumer/${topic}/acked`]);
      await pause(300 + Math.random() * 2_000);
      await standalone.kill9();
      const killedAtMs = performance.now();
      publisher.stop();
      acknowledger.stop();
      next = publisher.next;
      published.push(...publisher.published);
      for (const number of acknowledger.received) {
        const ackedBeforeMs = ackedAtMs.get(number);
        if (ackedBeforeMs !== undefined)
          result.problems.push(
            `round ${round}: ${number} came again although it was acknowledged ${Math.round(ackedBeforeMs)} ms before an earlier kill`,
          );
      }
      for (const [number, atMs] of acknowledger.ackedAtMs) if (killedAtMs - atMs > ackDurableWithinMs) ackedAtMs.set(number, killedAtMs - atMs);
      standalone = await start();
      log(`round ${round}: ${published.length} acknowledged in all, ready after ${Math.round(result.readyMs.at(-1) ?? 0)} ms`);
      if (round % 10 === 0 || round === rounds)
        result.problems.push(...findLosses(published, await readAll(`${sockets}/reader/${topic}?messageId=earliest`)));
    }
  } finally {
    await standalone.kill9();
    folder.remove();
  }
  result.acknowledged = published.length;
  return result;
}
