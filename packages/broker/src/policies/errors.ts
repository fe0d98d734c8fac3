import { defineErrors } from '@daybook/runtime';

export const directoryErrors = defineErrors('DIRECTORY', {
  CLUSTER_EXISTS: { retry: 'never', text: () => 'Cluster already exists' },
  CLUSTER_NOT_FOUND: { retry: 'never', text: () => 'Cluster does not exist' },
  CLUSTER_IN_USE: { retry: 'never', text: (by: string) => `Cluster not empty: ${by} uses it` },
  TENANT_EXISTS: { retry: 'never', text: () => 'Tenant already exist' },
  TENANT_NOT_FOUND: { retry: 'never', text: (name: string) => `Tenant ${name} not found` },
  TENANT_NOT_EMPTY: { retry: 'never', text: (name: string) => `The tenant still has active namespaces: delete those of ${name} first` },
  NAMESPACE_EXISTS: { retry: 'never', text: () => 'Namespace already exists' },
  NAMESPACE_NOT_FOUND: { retry: 'never', text: () => 'Namespace does not exist' },
  NAMESPACE_NOT_EMPTY: { retry: 'never', text: () => 'Cannot delete non empty namespace' },
  CLUSTER_NOT_ALLOWED: {
    retry: 'never',
    text: (cluster: string, tenant: string) => `Cluster [${cluster}] is not in the list of allowed clusters list for tenant [${tenant}]`,
  },
  POLICY_UNSUPPORTED: {
    retry: 'never',
    text: (policy: string) => `Setting the namespace policy ${policy} is not supported by this version of Daybook: create the namespace without it`,
  },
  INVALID: { retry: 'never', text: (detail: string) => detail },
});
