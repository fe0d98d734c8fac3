import type { TopicDomain, TopicName } from '@daybook/proto';

const entityName = /^[-=:.\w]+$/;
const partitionSuffix = /^(.*)-partition-(0|[1-9]\d{0,8})$/s;

/** Tenants, namespaces and clusters: letters, digits and `_ - = : .`. */
export function isEntityName(name: string): boolean {
  return entityName.test(name);
}

export type NameFault = 'domain' | 'tenant' | 'namespace' | 'topic' | 'slash';

/** A topic's name from its parts as they came in a path (decoded), or which part is wrong. */
export function topicNameOf(domain: string, tenant: string, namespace: string, local: string): TopicName | NameFault {
  if (domain !== 'persistent' && domain !== 'non-persistent') return 'domain';
  if (!isEntityName(tenant)) return 'tenant';
  if (!isEntityName(namespace)) return 'namespace';
  if (local.trim() === '' || local.includes('\0')) return 'topic';
  if (local.includes('/')) return 'slash';
  return makeTopicName(domain, tenant, namespace, local);
}

function makeTopicName(domain: TopicDomain, tenant: string, namespace: string, local: string): TopicName {
  const suffix = partitionSuffix.exec(local);
  const namespaceName = `${tenant}/${namespace}`;
  return {
    domain,
    tenant,
    namespace,
    local,
    partition: suffix === null ? undefined : Number(suffix[2]),
    full: `${domain}://${namespaceName}/${local}`,
    namespaceName,
  };
}

/** What a person reads who sent such a name. */
export function nameFaultText(fault: NameFault): string {
  switch (fault) {
    case 'domain':
      return 'The topic domain is persistent or non-persistent';
    case 'tenant':
      return 'Tenant name is not valid';
    case 'namespace':
      return 'Namespace name is not valid';
    case 'topic':
      return 'Topic name is not valid';
    case 'slash':
      return 'Topic name is not valid: it must not contain a slash';
  }
}

const systemTopics = new Set([
  '__change_events',
  '__transaction_buffer_snapshot',
  '__transaction_buffer_snapshot_segments',
  '__transaction_buffer_snapshot_indexes',
]);

/** Names that Pulsar keeps for itself in every namespace: clients cannot make or publish to them. */
export function isSystemTopic(name: TopicName): boolean {
  return systemTopics.has(name.local) || name.local.endsWith('__transaction_pending_ack');
}
