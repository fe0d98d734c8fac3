import { ClientError } from './errors.js';

/** `domain/tenant/namespace/topic`, each part percent-encoded, as it stands in WebSocket and REST paths. */
export function topicPath(name: string): string {
  const [domain, rest] = name.includes('://') ? (name.split('://', 2) as [string, string]) : ['persistent', name];
  const parts = rest.split('/');
  const full = name.includes('://') || parts.length === 3 ? parts : parts.length === 1 ? ['public', 'default', ...parts] : [];
  if (full.length !== 3 || full.some((part) => part === '')) {
    throw new ClientError('BAD_ARGUMENT', `"${name}" is not a topic: write TOPIC, TENANT/NAMESPACE/TOPIC or persistent://TENANT/NAMESPACE/TOPIC`);
  }
  return [domain, ...full].map(encodeURIComponent).join('/');
}
