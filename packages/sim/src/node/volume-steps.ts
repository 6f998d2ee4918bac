// SPDX-License-Identifier: Apache-2.0
/**
 * The next step of one volume on one node, in kubelet's order. Pure. First match wins:
 *
 * | condition | step | why |
 * |---|---|---|
 * | published for a pod that does not use it any more | unpublish | |
 * | no pod uses it, staged | unstage | only after every unpublish |
 * | no pod uses it | forget | from now on it may be detached |
 * | not yet reported as in use | wait | the detach of another pod must not overtake this mount |
 * | its driver is not registered here | wait | |
 * | not attached, or the node's status does not show it | wait | |
 * | not staged | stage | |
 * | not published for a pod that uses it | publish | |
 * | volume larger than the claim's status shows | expand | |
 */
export interface VolumeOnNode {
  /** Pods that have it mounted. */
  readonly published: ReadonlySet<string>;
  readonly staged: boolean;
  /** Pods that need it mounted. */
  readonly users: readonly string[];
  readonly reported: boolean;
  readonly registered: boolean;
  readonly attached: boolean;
  readonly expands: boolean;
}

export type VolumeStep =
  | { readonly kind: 'unpublish'; readonly pod: string }
  | { readonly kind: 'unstage' }
  | { readonly kind: 'forget' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'stage' }
  | { readonly kind: 'publish'; readonly pod: string }
  | { readonly kind: 'expand' }
  | { readonly kind: 'none' };

export function nextStep(volume: VolumeOnNode): VolumeStep {
  const orphan = [...volume.published].find((pod) => !volume.users.includes(pod));
  if (orphan !== undefined) return { kind: 'unpublish', pod: orphan };
  if (volume.users.length === 0) return volume.staged ? { kind: 'unstage' } : { kind: 'forget' };
  if (!volume.reported || !volume.registered || !volume.attached) return { kind: 'wait' };
  if (!volume.staged) return { kind: 'stage' };
  const next = volume.users.find((pod) => !volume.published.has(pod));
  if (next !== undefined) return { kind: 'publish', pod: next };
  return volume.expands ? { kind: 'expand' } : { kind: 'none' };
}
