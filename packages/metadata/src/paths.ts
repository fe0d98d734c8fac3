import { type BookieId, formDecode, formEncode, type TopicName } from '@daybook/proto';
import { metadataErrors } from './errors.js';

/**
 * The only file that spells a key. Ledgers, bookies and repair lie where BookKeeper has them, topics, policies and brokers where Pulsar has them; what is
 * ours alone lies below `/daybook`. The picture is docs/internals/metadata-layout.md.
 *
 * Names come in two kinds. Tenants, namespaces, clusters, brokers and bookies are made of `A-Z a-z 0-9 _ - = : .` and stay as they are; whatever else is in one
 * is percent-encoded. Topics, cursors and other free names are form-encoded as Java's URLEncoder does (a space is `+`). Either way a name is one part.
 */
export const paths = {
  ledgers: '/ledgers',
  layout: '/ledgers/LAYOUT',
  instanceId: '/ledgers/INSTANCEID',
  /** Parent of the ephemeral keys of writable bookies, and of `readonly`. */
  availableBookies: '/ledgers/available',
  readOnlyBookies: '/ledgers/available/readonly',
  availableBookie: (id: BookieId) => `/ledgers/available/${namePart(id)}`,
  readOnlyBookie: (id: BookieId) => `/ledgers/available/readonly/${namePart(id)}`,
  cookies: '/ledgers/cookies',
  cookie: (id: BookieId) => `/ledgers/cookies/${namePart(id)}`,
  /** Sequential: the number is the ledger id. */
  ledgerIds: '/ledgers/idgen/ID-',
  longLedgerIds: '/ledgers/idgen-long',
  longLedgerIdsFrom: (highBits: number) => `/ledgers/idgen-long/HOB-${String(highBits).padStart(10, '0')}`,
  ledger: ledgerPath,
  /** Pulsar's: which bookie stands in which rack. */
  bookieRacks: '/bookies',
  bookieHealthCheckDisabled: '/ledgers/disableHealthCheck',

  underreplication: '/ledgers/underreplication',
  underreplicationLayout: '/ledgers/underreplication/LAYOUT',
  underreplicatedLedgers: '/ledgers/underreplication/ledgers',
  underreplicatedLedger: underreplicatedLedgerPath,
  replicationLocks: '/ledgers/underreplication/locks',
  replicationLock: (id: number | bigint) => `/ledgers/underreplication/locks/urL${digits(id, 10)}`,
  /** The election as BookKeeper's tools look at it: the lowest vote leads, and its parent names the leader. */
  auditorElection: { leader: '/ledgers/underreplication/auditorelection/V_0000000000', term: '/ledgers/underreplication/auditorelection' },
  autoRecoveryDisabled: '/ledgers/underreplication/disable',
  lostBookieRecoveryDelay: '/ledgers/underreplication/lostBookieRecoveryDelay',
  checkAllLedgersTime: '/ledgers/underreplication/checkallledgersctime',
  placementCheckTime: '/ledgers/underreplication/placementpolicycheckctime',
  replicasCheckTime: '/ledgers/underreplication/replicascheckctime',
  /** Children: bookies that are being decommissioned. */
  drainingBookies: '/daybook/draining-bookies',
  drainingBookie: (id: BookieId) => `/daybook/draining-bookies/${namePart(id)}`,

  managedLedgers: '/managed-ledgers',
  /** Children: topics, encoded. */
  topicsOfNamespace: (namespaceName: string, domain: TopicName['domain'] = 'persistent') =>
    `/managed-ledgers/${namespacePart(namespaceName)}/${domain}`,
  /** By topic, or by a log's name as `managedLedgerName` of proto makes it (encoded already). Children: cursors. */
  managedLedger: (name: TopicName | string) => (typeof name === 'string' ? `/managed-ledgers/${name}` : `/managed-ledgers/${topicPart(name)}`),
  cursor: (name: TopicName | string, cursor: string) => `${paths.managedLedger(name)}/${freePart(cursor)}`,

  clusters: '/admin/clusters',
  cluster: (name: string) => `/admin/clusters/${namePart(name)}`,
  /** Children: tenants; their children: namespaces. */
  tenants: '/admin/policies',
  tenant: (tenant: string) => `/admin/policies/${namePart(tenant)}`,
  namespace: (namespaceName: string) => `/admin/policies/${namespacePart(namespaceName)}`,
  localPolicies: (namespaceName: string) => `/admin/local-policies/${namespacePart(namespaceName)}`,
  partitionedTopics: (namespaceName: string, domain: TopicName['domain'] = 'persistent') =>
    `/admin/partitioned-topics/${namespacePart(namespaceName)}/${domain}`,
  partitionedTopic: (topic: TopicName) => `/admin/partitioned-topics/${topicPart(topic)}`,
  resourceGroup: (name: string) => `/admin/resourcegroups/${freePart(name)}`,
  schema: (topic: TopicName) => `/schemas/${namePart(topic.tenant)}/${namePart(topic.namespace)}/${freePart(topic.local)}`,
  producerNames: '/counters/producer-name/-',

  brokers: '/loadbalance/brokers',
  /** Ephemeral: a broker that is up. */
  broker: (brokerId: string) => `/loadbalance/brokers/${namePart(brokerId)}`,
  brokerElection: { leader: '/loadbalance/leader', term: '/loadbalance/leader-term' },
  /** Ephemeral: whoever has it serves the topics of the bundle (`0x40000000_0x80000000`). */
  bundleOwner: (namespaceName: string, bundle: string) => `/namespace/${namespacePart(namespaceName)}/${namePart(bundle)}`,
  /** Children: bundles that somebody owns. */
  bundleOwners: (namespaceName: string) => `/namespace/${namespacePart(namespaceName)}`,

  /** Children: named logs. Below one, DistributedLog's keys of a stream without partitions; the value of `segments` names those in progress. */
  logs: '/daybook/logs',
  log: (name: string) => {
    const root = `/daybook/logs/${freePart(name)}/<default>`;
    return {
      parent: `/daybook/logs/${freePart(name)}`,
      root,
      segments: `${root}/ledgers`,
      completedSegment: (sequence: number) => `${root}/ledgers/logrecs_${digits(sequence, 18)}`,
      lock: `${root}/lock`,
      /** Ephemeral and sequential: the lowest number has the lock. */
      lockMember: (owner: string, session: string) => `${root}/lock/member_${freePart(owner)}_s${session}_`,
    };
  },
  /** A journal of edit-log segments, with the keys of the name node's BookKeeper journal. */
  journal: (name: string) => {
    const root = `/daybook/journals/${freePart(name)}`;
    return {
      root,
      version: `${root}/version`,
      maxTxId: `${root}/maxtxid`,
      currentInProgress: `${root}/CurrentInprogress`,
      segments: `${root}/ledgers`,
      inProgress: (firstTxId: number) => `${root}/ledgers/inprogress_${firstTxId.toString(16)}`,
      finalized: (firstTxId: number, lastTxId: number) => `${root}/ledgers/edits_${digits(firstTxId, 18)}_${digits(lastTxId, 18)}`,
    };
  },
  /** Children: blobs that are complete. */
  blobs: '/daybook/blobs/objects',
  blob: (name: string) => `/daybook/blobs/objects/${freePart(name)}`,
  /** Children: blobs on their way in or out. */
  blobUploads: '/daybook/blobs/uploads',
  blobUpload: (uploadId: string) => `/daybook/blobs/uploads/${namePart(uploadId)}`,

  /** Any other election, by a name of ours. */
  election: (name: string) => ({ leader: `/daybook/elections/${freePart(name)}/leader`, term: `/daybook/elections/${freePart(name)}/term` }),
} as const;

/** Ids below this lie in the 2-4-4 tree. */
const longIdsFrom = 2_147_483_647n;
const idMax = 9_223_372_036_854_775_807n;

/** `/ledgers/00/0000/L0123`, from 2^31-1 on `/ledgers/000/0000/0021/4748/L3647`. */
function ledgerPath(id: number | bigint): string {
  if (BigInt(id) < longIdsFrom) {
    const text = digits(id, 10);
    return `/ledgers/${text.slice(0, 2)}/${text.slice(2, 6)}/L${text.slice(6)}`;
  }
  const text = digits(id, 19);
  return `/ledgers/${text.slice(0, 3)}/${text.slice(3, 7)}/${text.slice(7, 11)}/${text.slice(11, 15)}/L${text.slice(15)}`;
}

const shortLedger = /^\/ledgers\/(\d{2})\/(\d{4})\/L(\d{4})$/;
const longLedger = /^\/ledgers\/(\d{3})\/(\d{4})\/(\d{4})\/(\d{4})\/L(\d{4})$/;

/** The reverse of `paths.ledger`; undefined for every path that it does not make. */
export function ledgerIdOfPath(path: string): bigint | undefined {
  const match = shortLedger.exec(path) ?? longLedger.exec(path);
  if (match === null) return undefined;
  const id = BigInt(match.slice(1).join(''));
  return id <= idMax && ledgerPath(id) === path ? id : undefined;
}

/** `.../ledgers/0000/0000/0000/007b/urL0000000123`: the four 16-bit groups in hex. */
function underreplicatedLedgerPath(id: number | bigint): string {
  const hex = BigInt(id).toString(16).padStart(16, '0');
  return `/ledgers/underreplication/ledgers/${hex.slice(0, 4)}/${hex.slice(4, 8)}/${hex.slice(8, 12)}/${hex.slice(12)}/urL${digits(id, 10)}`;
}

/** The ledger id in the name of a mark or lock of repair (`urL0000000123`); undefined when it is none. */
export function ledgerIdOfRepairPart(part: string): bigint | undefined {
  const match = /^urL(\d{10,19})$/.exec(part);
  const id = match === null ? undefined : BigInt(match[1] as string);
  return id !== undefined && id <= idMax && part === `urL${digits(id, 10)}` ? id : undefined;
}

/** The number that a sequential put at `prefix` got; undefined when the store's counter (31 bits) ran over. */
export function sequenceOfPath(path: string, prefix: string): number | undefined {
  const number = path.slice(prefix.length);
  return path.startsWith(prefix) && /^\d{10}$/.test(number) && Number(number) <= 0x7fff_ffff ? Number(number) : undefined;
}

/** The sequence number of a child of a log's segments; undefined when it is none of a completed segment. */
export function segmentSequenceOfPart(part: string): number | undefined {
  const match = /^logrecs_(\d{18})$/.exec(part);
  return match === null ? undefined : Number(match[1]);
}

/** The name behind a free part: a topic's local name, a cursor. Undefined when the part is not one that we make. */
export function nameOfPart(part: string): string | undefined {
  const name = formDecode(part);
  return name !== undefined && wellFormed(name) && freePart(name) === part ? name : undefined;
}

function digits(id: number | bigint, count: number): string {
  return String(id).padStart(count, '0');
}

function topicPart(topic: TopicName): string {
  return `${namePart(topic.tenant)}/${namePart(topic.namespace)}/${topic.domain}/${freePart(topic.local)}`;
}

function namespacePart(namespaceName: string): string {
  const [tenant, namespace, ...rest] = namespaceName.split('/');
  if (tenant === undefined || namespace === undefined || rest.length > 0)
    throw metadataErrors.BAD_PATH(namespaceName, 'a namespace is tenant/namespace');
  return `${namePart(tenant)}/${namePart(namespace)}`;
}

function freePart(name: string): string {
  if (!wellFormed(name)) throw metadataErrors.BAD_PATH(name, 'it is no valid text');
  return withoutDots(formEncode(name));
}

function namePart(name: string): string {
  if (!wellFormed(name)) throw metadataErrors.BAD_PATH(name, 'it is no valid text');
  return withoutDots(name.replace(/[^\w\-=:.]/gu, (character) => encodeURIComponent(character).replace(/[!'()*~]/g, hexEscape)));
}

/** An empty name and the two that mean a place in a path cannot stand for themselves. */
function withoutDots(part: string): string {
  if (part === '') throw metadataErrors.BAD_PATH(part, 'a name is empty');
  return part === '.' || part === '..' ? part.replaceAll('.', '%2E') : part;
}

function hexEscape(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** Half a surrogate pair cannot be encoded. */
function wellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
