// SPDX-License-Identifier: Apache-2.0
/**
 * - `intent`: an expansion is called only once the status of the claim says so.
 * - `same-size`: while the outcome of an expansion is open, no other size is called for the volume.
 * - `node-first`: where the driver wants the node to grow the file system, only kubelet writes the new size into the claim.
 * - `paced`: see `pace.ts`.
 */
import { type PersistentVolumeClaim, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { createPace } from './pace.ts';
import { bytesOf, type Check, type Findings, open, type Request, type Stage, volumeOf } from './stage.ts';

/** A run of the others may make two calls, and what has come during the first is new to the second. */
const paced: ReadonlySet<string> = new Set(['ControllerExpandVolume', 'ControllerModifyVolume']);

export function growthChecks(stage: Stage, { breach }: Findings): Check {
  const { server, programOf, nodesExpand } = stage;
  const sizes = new Map<string, string>();
  const pace = createPace({ ...stage, breach });

  function beforeExpansion({ volume_id: handle, capacity_range: range }: Request): void {
    const claimRef = volumeOf(stage, handle)?.spec?.claimRef;
    const ref = { namespace: claimRef?.namespace, name: claimRef?.name ?? '' };
    const claim = server.objects.get(persistentVolumeClaims, ref);
    const status = claim?.status?.allocatedResourceStatuses?.['storage'];
    // A claim that has gone since shows nothing.
    if (claim !== undefined && claim.metadata?.uid === claimRef?.uid && status === undefined) {
      breach('intent: ControllerExpandVolume for a claim whose status does not say so');
    }
    const size = String((range as Request)['required_bytes']);
    const asked = sizes.get(String(handle)) ?? size;
    // Kubelet has finished that size, which proves the effect of the call.
    const before = bytesOf(claim?.status?.capacity?.['storage']) >= BigInt(asked) ? size : asked;
    sizes.set(String(handle), before);
    if (before !== size) breach(`same-size: ${size} is called while the outcome of ${before} is open`);
  }

  function lookAtSizes(): void {
    const { verb, resource, subresource, userAgent, code, body } = server.requests.at(-1) ?? {};
    if (!nodesExpand || verb !== 'patch' || resource !== 'persistentvolumeclaims' || subresource !== 'status') return;
    const { status } = body as PersistentVolumeClaim;
    const size = status?.capacity?.['storage'];
    if (code === 200 && userAgent?.startsWith('csi-') === true && size !== undefined) {
      breach(`node-first: ${userAgent.split('/')[0]} writes the size ${size} into a claim whose node has to grow it`);
    }
  }

  return {
    beforeCall({ process, method, request }) {
      if (paced.has(method)) pace.before(process, programOf.get(method) ?? '', request);
      if (method === 'ControllerExpandVolume') beforeExpansion(request);
    },
    answered({ process, method, request, code }) {
      pace.answered(process, request, code);
      if (method === 'ControllerExpandVolume' && !open.has(code)) sizes.delete(String(request['volume_id']));
    },
    afterDeath: pace.forget,
    look() {
      pace.look();
      lookAtSizes();
    },
  };
}
