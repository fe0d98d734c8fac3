import { defineErrors } from '@daybook/runtime';

export const cliErrors = defineErrors('CLI', {
  USAGE: { retry: 'never', text: (detail: string) => detail },
  CANNOT_LISTEN: {
    retry: 'later',
    text: (address: string, detail: string) => `cannot listen on ${address}: ${detail}. Choose another port or address, or end what uses it`,
  },
  MEMBER_FAILED: {
    retry: 'never',
    text: (name: string, how: string, logFile: string, lastLine: string) =>
      `${name} ${how} before it was ready: ${lastLine} (all of its log: ${logFile})`,
  },
  CLUSTER_GONE: { retry: 'never', text: (folder: string) => `all members of the cluster have ended; their logs are in ${folder}` },
  NO_ZOOKEEPER: {
    retry: 'never',
    text: (detail: string) => `cannot start a ZooKeeper server: ${detail} Or name a running one with --metadata zk://HOST:PORT/PATH.`,
  },
  NO_SIMULATOR: {
    retry: 'never',
    text: () =>
      "the simulator is not part of this installation: in a copy of Daybook's repository, run 'npm install && npm run build', then 'npm run sim'",
  },
  BENCH_FAILED: { retry: 'later', text: (detail: string) => `the benchmark was broken off: ${detail}` },
});
