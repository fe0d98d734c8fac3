import type { TenantInfo } from '../../broker-api.js';
import { jsonAnswer, noContent, Refused, Unreadable } from '../answer.js';
import type { Call } from '../call.js';
import { isJsonObject, type JsonValue } from '../json-body.js';
import type { Router } from '../router.js';
import type { RouteContext } from './route-context.js';

/** `/admin/v2/tenants`. */
export function addTenantRoutes(router: Router, { broker }: RouteContext): void {
  const { directory } = broker;
  const infoOf = async (call: Call): Promise<TenantInfo> => {
    const info = tenantInfo(call);
    const known = new Set(await directory.clusters());
    if (!info.allowedClusters.every((name) => known.has(name))) throw new Refused(412, 'Clusters do not exist');
    return info;
  };
  router
    .add('GET', '/admin/v2/tenants', async () => jsonAnswer(await directory.tenants()))
    .add('GET', '/admin/v2/tenants/:tenant', async (call) => {
      const info = await directory.tenant(call.tenant());
      if (info === undefined) throw new Refused(404, 'Tenant does not exist');
      return jsonAnswer({ adminRoles: info.adminRoles, allowedClusters: info.allowedClusters });
    })
    .add('PUT', '/admin/v2/tenants/:tenant', async (call) => {
      const name = call.tenant();
      await directory.createTenant(name, await infoOf(call));
      return noContent;
    })
    .add('POST', '/admin/v2/tenants/:tenant', async (call) => {
      await directory.updateTenant(call.tenant(), await infoOf(call));
      return noContent;
    })
    .add('DELETE', '/admin/v2/tenants/:tenant', async (call) => {
      const name = call.tenant();
      if ((await directory.tenant(name)) === undefined) throw new Refused(404, "Tenant doesn't exist");
      if (call.flag('force')) throw new Refused(405, "Broker doesn't allow forced deletion of tenants");
      await directory.deleteTenant(name);
      return noContent;
    });
}

function tenantInfo(call: Call): TenantInfo {
  const body = call.json();
  if (body === undefined || body === null) throw new Refused(412, 'TenantInfo is null');
  if (!isJsonObject(body)) throw new Unreadable('TenantInfo is a JSON object');
  const allowedClusters = texts(body.allowedClusters, 'allowedClusters');
  const adminRoles = texts(body.adminRoles, 'adminRoles') ?? [];
  if (allowedClusters === undefined) throw new Refused(412, 'Clusters cannot be null');
  if (allowedClusters.length === 0 || allowedClusters.some((name) => name.trim() === '')) throw new Refused(412, 'Clusters cannot be empty or blank');
  if (adminRoles.some((role) => role !== role.trim())) throw new Refused(412, 'AdminRoles contains whitespace in the beginning or end.');
  return { adminRoles, allowedClusters };
}

/** A set of texts: each once. */
function texts(value: JsonValue | undefined, name: string): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every((item): item is string => typeof item === 'string')) throw new Unreadable(`${name} is an array of texts`);
  return [...new Set(value)];
}
