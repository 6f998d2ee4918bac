// SPDX-License-Identifier: Apache-2.0
/**
 * The audit policy of the API server: every finished request as metadata, and for patches of ServiceAccounts their body as
 * well, because the kind of a patch shows nowhere else. No policy line ever records a Secret's content.
 */
export const auditPolicy: object = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'Metadata', resources: [{ group: '', resources: ['secrets', 'serviceaccounts/token'] }] },
    { level: 'Request', verbs: ['patch'], userGroups: ['system:serviceaccounts'] },
    { level: 'Metadata' },
  ],
};
