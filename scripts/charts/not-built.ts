// SPDX-License-Identifier: Apache-2.0
/** Flags of csi-provisioner that ours refuses because they are not built. The chart refuses to render them with our image. */
import type { ProvisionerValues } from '../../packages/provisioner/src/flags.ts';
import { refusedFlags } from '../../packages/provisioner/src/read-settings.ts';

const candidates = ['enable-capacity', 'node-deployment'] as const;

/** What no check objects to, so that a refusal is about the one flag. */
const sound = {
  timeout: 1,
  'worker-threads': 1,
  'capacity-threads': 1,
  'capacity-poll-interval': 1,
  'volume-name-uuid-length': -1,
  'provisioning-protection': 'ambiguous',
};

export function notBuilt(): readonly (typeof candidates)[number][] {
  return candidates.filter((flag) => {
    const refusal = refusedFlags({ ...sound, [flag]: true } as unknown as ProvisionerValues);
    return refusal?.includes('not supported by this version') === true;
  });
}
