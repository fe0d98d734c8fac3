/** The metadata keys of what the broker itself stores; Pulsar's. Bookies, ledgers and managed ledgers have theirs in packages/metadata and managed-ledger/. */
export const brokerPaths = {
  clusters: '/admin/clusters',
  cluster: (name: string) => `/admin/clusters/${name}`,
  tenants: '/admin/policies',
  tenant: (name: string) => `/admin/policies/${name}`,
  /** `tenant/namespace`. */
  namespace: (namespaceName: string) => `/admin/policies/${namespaceName}`,
  localPolicies: (namespaceName: string) => `/admin/local-policies/${namespaceName}`,
  /** Children: the namespace's persistent topics, encoded. */
  topics: (namespaceName: string) => `/managed-ledgers/${namespaceName}/persistent`,
  brokers: '/loadbalance/brokers',
  broker: (brokerId: string) => `/loadbalance/brokers/${brokerId}`,
  leader: '/loadbalance/leader',
  /** Whoever has it serves the topics of the bundle. */
  bundleOwner: (namespaceName: string, bundle: string) => `/namespace/${namespaceName}/${bundle}`,
} as const;
