import { defineErrors } from '@daybook/runtime';

export const metadataErrors = defineErrors('METADATA', {
  EXISTS: { retry: 'never', text: (path: string) => `${path} exists already` },
  NOT_FOUND: { retry: 'never', text: (path: string) => `there is no ${path}` },
  BAD_VERSION: { retry: 'never', text: (path: string) => `${path} was changed by somebody else` },
  NOT_EMPTY: { retry: 'never', text: (path: string) => `${path} still has children` },
  BAD_PATH: { retry: 'never', text: (path: string, why?: string) => `"${path}" is not a valid metadata path${why === undefined ? '' : `: ${why}`}` },
  TOO_LARGE: {
    retry: 'never',
    text: (path: string, bytes: number) => `the value for ${path} has ${bytes} bytes, more than the metadata store takes`,
  },
  UNAVAILABLE: { retry: 'later', text: (detail: string) => `the metadata store cannot be reached: ${detail}` },
  CLOSED: { retry: 'never', text: () => 'the metadata store was closed' },
  CORRUPT: { retry: 'never', text: (path: string, detail: string) => `the record at ${path} cannot be read: ${detail}` },
});

/** Setting up: opening a store, making a cluster, joining it. */
export const clusterErrors = defineErrors('CLUSTER', {
  BAD_METADATA_URL: {
    retry: 'never',
    text: (url: string, detail: string) =>
      `"${url}" does not name a metadata store: ${detail}. Use zk://host:port[,host:port]/path, file:DIRECTORY or memory:`,
  },
  UNKNOWN_LAYOUT: {
    retry: 'never',
    text: (layout: string) =>
      `the cluster keeps its ledgers in a layout Daybook does not know (${layout}); it knows HierarchicalLedgerManagerFactory:1. Choose another metadata path`,
  },
  NOT_INITIALISED: { retry: 'later', text: () => 'there is no cluster at this metadata path yet: initialise it first, or check the path' },
  BOOKIE_ID_TAKEN: {
    retry: 'later',
    text: (bookieId: string, waitedMs: number) =>
      `another process has registered bookie ${bookieId} and still holds it after ${waitedMs} ms: end it first, or start this one with another --bookie-id`,
  },
});
