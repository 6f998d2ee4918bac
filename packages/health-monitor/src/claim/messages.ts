// SPDX-License-Identifier: Apache-2.0
export const messages = {
  set: 'Stored the health of the volume in its claim',
  cleared: 'Removed the health of the volume from its claim',
  /** Once, when the writes begin to be dropped. */
  dropped:
    'The API server drops status.healthStatus of claims: its feature gate CSIVolumeHealth is off, or it is older than 1.37. One claim is tried in each cycle',
  /** Once, when they are stored again. */
  stored: 'The API server stores status.healthStatus of claims again',
  forbidden:
    'The account may not write the health of volumes: it lacks the verb patch for persistentvolumeclaims/status. Logged once an hour',
  refused: 'The API server refuses the health of a volume; the same value is not sent again for ten minutes',
  noClaim: 'The health of a volume cannot be shown by its claim',
  cannotAsk: 'Check controller volume health error',
  unknown: 'CSI driver reported volume health conditions of a type unknown to this monitor',
} as const;
