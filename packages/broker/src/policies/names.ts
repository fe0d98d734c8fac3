import { isValidName } from '@daybook/proto';
import { directoryErrors } from './errors.js';

/** `DIRECTORY_INVALID` in Pulsar's words. */
export function checkEntityName(kind: 'Cluster' | 'Tenant' | 'Namespace', name: string): void {
  if (!isValidName(name)) throw directoryErrors.INVALID(`${kind} name is not valid`);
}

/** `tenant/namespace` → its parts. */
export function splitNamespaceName(namespaceName: string): { tenant: string; namespace: string } {
  const [tenant = '', namespace = '', ...more] = namespaceName.split('/');
  checkEntityName('Tenant', tenant);
  checkEntityName('Namespace', namespace);
  if (more.length > 0) throw directoryErrors.INVALID('Namespace name is not valid');
  return { tenant, namespace };
}
