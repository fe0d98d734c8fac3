import { protoErrors } from './errors.js';

export type TopicDomain = 'persistent' | 'non-persistent';

/** A topic's full name, parsed. `partition` is set for names that end with `-partition-N`. Runs in browsers. */
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

const entityPattern = /^[-=:.\w]+$/;
const partitionMark = '-partition-';
const partitionMax = 0x7fff_ffff;
const surrogate = /\p{Surrogate}/u;

/** Whether a tenant, namespace or cluster may have that name: letters, digits and `_ - = : .`, but not `.` or `..`, which no path can hold. */
export function isValidName(name: string): boolean {
  return entityPattern.test(name) && name !== '.' && name !== '..';
}

/**
 * Reads `local`, `tenant/namespace/local` (both persistent) and `domain://tenant/namespace/local`. Throws `PROTO_TOPIC_NAME_INVALID`. Names with a cluster in them
 * (Pulsar's version 1) are refused, and so is a `/` in a local name, which Pulsar would take for one.
 */
export function parseTopicName(text: string): TopicName {
  const schemeEnd = text.indexOf('://');
  if (schemeEnd < 0) {
    const parts = text.split('/');
    if (parts.length === 1) return topicNameOf('persistent', 'public', 'default', text);
    if (parts.length === 3) return topicNameOf('persistent', parts[0] as string, parts[1] as string, parts[2] as string);
    throw protoErrors.TOPIC_NAME_INVALID(text, 'a short name is <topic> or <tenant>/<namespace>/<topic>');
  }
  const domain = text.slice(0, schemeEnd);
  const [tenant, namespace, ...local] = text.slice(schemeEnd + 3).split('/');
  if (tenant === undefined || namespace === undefined || local.length !== 1) {
    throw protoErrors.TOPIC_NAME_INVALID(text, 'a full name is <domain>://<tenant>/<namespace>/<topic>, with no further / in it');
  }
  return topicNameOf(domain, tenant, namespace, local[0] as string);
}

/** From decoded parts, as REST and WebSocket paths have them. Throws `PROTO_TOPIC_NAME_INVALID`. */
export function topicNameOf(domain: string, tenant: string, namespace: string, local: string): TopicName {
  const full = `${domain}://${tenant}/${namespace}/${local}`;
  if (domain !== 'persistent' && domain !== 'non-persistent')
    throw protoErrors.TOPIC_NAME_INVALID(full, 'the domain is persistent or non-persistent');
  if (!isValidName(tenant)) throw protoErrors.TOPIC_NAME_INVALID(full, 'a tenant has letters, digits and _ - = : . in its name');
  if (!isValidName(namespace)) throw protoErrors.TOPIC_NAME_INVALID(full, 'a namespace has letters, digits and _ - = : . in its name');
  if (local === '') throw protoErrors.TOPIC_NAME_INVALID(full, 'the topic has no name');
  if (local.includes('/')) throw protoErrors.TOPIC_NAME_INVALID(full, 'a topic has no / in its name');
  if (local === '.' || local === '..') throw protoErrors.TOPIC_NAME_INVALID(full, 'a topic cannot be called . or ..');
  if (surrogate.test(local) || local.includes('\0')) throw protoErrors.TOPIC_NAME_INVALID(full, 'it is not valid Unicode text');
  return { domain, tenant, namespace, local, partition: partitionIn(local), full, namespaceName: `${tenant}/${namespace}` };
}

/** The number after the last `-partition-`: decimal, without leading zeros. */
function partitionIn(local: string): number | undefined {
  const at = local.lastIndexOf(partitionMark);
  if (at < 0) return undefined;
  const digits = local.slice(at + partitionMark.length);
  if (!/^(0|[1-9]\d{0,9})$/.test(digits) || Number(digits) > partitionMax) return undefined;
  return Number(digits);
}

/** The partitioned topic a partition belongs to; the name itself when it is none. */
export function partitionedTopicOf(name: TopicName): TopicName {
  if (name.partition === undefined) return name;
  const local = name.local.slice(0, name.local.lastIndexOf(partitionMark));
  // A topic called just "-partition-0" is a partition of nothing.
  return local === '' ? name : topicNameOf(name.domain, name.tenant, name.namespace, local);
}

/** Partition `index` of a partitioned topic. */
export function partitionOf(name: TopicName, index: number): TopicName {
  return topicNameOf(name.domain, name.tenant, name.namespace, `${name.local}${partitionMark}${index}`);
}

/** Whether a new topic's name would be taken for a partition's: such names belong to partitioned topics. */
export function hasPartitionMark(local: string): boolean {
  return local.includes(partitionMark);
}

/**
 * Text as one part of a metadata path: form-encoded once, as Pulsar's records have topics' and subscriptions' names (`ünï cödé` is `%C3%BCn%C3%AF+c%C3%B6d%C3%A9`).
 * Letters, digits and `. - * _` stay, a space becomes `+`. For well-formed text only.
 */
export function formEncode(text: string): string {
  return encodeURIComponent(text).replace(/%20|[!'()~]/g, (found) => (found === '%20' ? '+' : `%${found.charCodeAt(0).toString(16).toUpperCase()}`));
}

/** The reverse of {@link formEncode}; undefined when `encoded` is no such text. */
export function formDecode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** The name of a topic's log, and the path of its record below `/managed-ledgers`: `tenant/namespace/persistent/encoded local`. */
export function managedLedgerName(name: TopicName): string {
  return `${name.namespaceName}/${name.domain}/${formEncode(name.local)}`;
}

/** The reverse of {@link managedLedgerName}; undefined when it is no topic's. */
export function topicNameOfManagedLedger(path: string): TopicName | undefined {
  const parts = path.split('/');
  const local = formDecode(parts[3] ?? '');
  if (parts.length !== 4 || local === undefined) return undefined;
  try {
    return topicNameOf(parts[2] as string, parts[0] as string, parts[1] as string, local);
  } catch (error) {
    if (protoErrors.TOPIC_NAME_INVALID.is(error)) return undefined;
    throw error;
  }
}

/** As part of a URL, percent-encoded: `persistent/tenant/namespace/local`. */
export function topicUrlPath(name: TopicName): string {
  return `${name.domain}/${name.tenant}/${name.namespace}/${encodeURIComponent(name.local)}`;
}
