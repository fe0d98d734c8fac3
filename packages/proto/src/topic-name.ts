export type TopicDomain = 'persistent' | 'non-persistent';

/** A topic's full name, parsed. `partition` is set for names that end with `-partition-N`. */
export interface TopicName {
  readonly domain: TopicDomain;
  readonly tenant: string;
  readonly namespace: string;
  /** The local name as people write it (decoded), suffix included. */
  readonly local: string;
  readonly partition: number | undefined;
  /** `persistent://tenant/namespace/local`. */
  readonly full: string;
  /** `tenant/namespace`. */
  readonly namespaceName: string;
}
