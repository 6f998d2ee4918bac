// SPDX-License-Identifier: Apache-2.0
/**
 * - `one-volume`: a claim has at most one volume in the driver; in node deployment no instance asks for the volume of a claim while another
 *   one may have made it.
 * - `recorded`: a volume that had an object in the API has one until it is deleted.
 * - `in-use`: no volume is deleted that is attached, or whose object is bound or retained.
 * - `gone`: DeleteVolume is not repeated for a PersistentVolume that is gone: its handle may be in use again. Exempt is a volume whose process
 *   has died or lost its lease before it heard of its last write: that write may arrive while the next process has an older cache.
 *   A process whose cache still shows a claim that is gone does not make its volume again and again, and not once after a write of the claim has
 *   found it gone and nothing is left of the last call.
 */
import { leases, type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { leaseNamespace } from '../../names.ts';
import { type Answer, type Check, type Findings, open, ownVolumes, podOf, type Stage, volumeOf } from './stage.ts';

/** After these answers no volume of the call exists, whatever was before. */
const settling: ReadonlySet<string> = new Set(['ResourceExhausted', 'InvalidArgument', 'OutOfRange']);

/** For the claim; once more for an old cache (C22); once more from memory, if the claim was looked at while that volume went (C63). */
const mostMade = 3;

export function volumeChecks(stage: Stage, { breach, orphaned, retained, denied }: Findings): Check {
  const { server, driver, leaseOf, hasInstances, isOnNodes, overwritten } = stage;
  const { objects } = server;
  const recorded = new Set<string>();
  /** The process that heard of the deletion, by handle. */
  const deleted = new Map<string, string>();
  const requested = new Map<string, Set<string>>();
  /** Answers to CreateVolume that the caller had since its claim is leaving, by the name of the volume. */
  const leaving = new Map<string, number>();
  /** Who may have made a volume, and how often it was called, by its name. */
  const makers = new Map<string, { readonly pod: string; readonly calls: number }>();
  /** Handles, by the name of the volume. */
  const made = new Map<string, Set<string>>();
  /** By the name of a volume of whose last call nothing is left: its claim, and what the server had answered by then. */
  const settled = new Map<string, { readonly claim: string; readonly by: string; readonly last: unknown }>();
  const claimNames = new Map<string, string>();
  let term = '';

  const claimOf = (name: string): PersistentVolumeClaim | undefined =>
    objects.list(persistentVolumeClaims).find(({ metadata }) => name === `pvc-${metadata?.uid}`);

  function beforeCreation(process: string, name: string): void {
    requested.set(process, (requested.get(process) ?? new Set()).add(name));
    const { pod: other, calls } = makers.get(name) ?? { pod: podOf(process), calls: 0 };
    makers.set(name, { pod: podOf(process), calls: calls + 1 });
    if (
      (made.get(name)?.size ?? 0) >= mostMade &&
      claimOf(name) === undefined &&
      driver.volumes().every((it) => it.name !== name)
    ) {
      breach(`gone: ${process} makes ${name} again and again, for a claim that is gone`);
    }
    claimNames.set(name, claimOf(name)?.metadata?.name ?? claimNames.get(name) ?? '');
    const before = settled.get(name);
    settled.delete(name);
    if (before?.by === podOf(process) && claimOf(name) === undefined && isKnownToBeGone(before)) {
      breach(`gone: ${process} makes ${name}, although a write has found that its claim is gone`);
    }
    // Without the annotation the finalizer belongs to the instance that takes it (P13).
    const isForgotten = overwritten.has(claimOf(name)?.metadata?.uid ?? '');
    if (!isOnNodes || isForgotten || other === podOf(process)) return;
    breach(`one-volume: ${podOf(process)} asks for ${name}, which ${other} may have made`);
  }

  function isKnownToBeGone({ claim, last }: { readonly claim: string; readonly last: unknown }): boolean {
    return server.requests
      .slice(server.requests.lastIndexOf(last as never) + 1)
      .some(({ verb, resource, name, code, userAgent }) => {
        const isOwnWrite = verb === 'update' && resource === 'persistentvolumeclaims' && /provisioner/.test(userAgent);
        return isOwnWrite && name === claim && code === 404;
      });
  }

  function beforeDeletion(handle: string): void {
    const volume = volumeOf(stage, handle);
    const phase = volume?.status?.phase ?? '';
    if (volume !== undefined && phase !== 'Released') breach(`in-use: DeleteVolume of a volume that is ${phase}`);
    if (volume !== undefined && volume.spec?.persistentVolumeReclaimPolicy !== 'Delete') {
      breach('in-use: DeleteVolume of a volume that is retained');
    }
    const stored = driver.volumes().find(({ id }) => id === handle);
    if ((stored?.attachments.length ?? 0) > 0) breach('in-use: DeleteVolume of a volume that is attached');
    if (deleted.has(handle) && volume === undefined) breach('gone: DeleteVolume for a PersistentVolume that is gone');
  }

  /** O2 and O5 of the provisioner's page: nothing was made. */
  function noteRefusal(name: string, code: string): void {
    const isFinal = code !== 'OK' && !open.has(code) && makers.get(name)?.calls === 1;
    if (isFinal || code === 'ResourceExhausted') makers.delete(name);
  }

  /**
   * P6 of the provisioner's page: the call of a claim that is leaving ends with a final code once three answers came. In node deployment a
   * final code releases the request, and other instances may have let its snapshot go.
   */
  function noteAnswer({ process, request: { name: named, volume_content_source: source }, code }: Answer): void {
    const name = String(named);
    const known = claimNames.get(name) ?? '';
    if (settling.has(code) && known !== '')
      settled.set(name, { claim: known, by: podOf(process), last: server.requests.at(-1) });
    const claim = claimOf(name);
    const isFinal = code !== 'OK' && !open.has(code);
    if (hasInstances && isFinal && claim === undefined && source !== undefined) orphaned.add(name);
    const answers = (leaving.get(name) ?? 0) + 1;
    if (claim !== undefined && claim.metadata?.deletionTimestamp === undefined) return;
    leaving.set(name, answers);
    if (answers >= 3 && isFinal) denied.add(name);
  }

  function afterDeath(process: string): void {
    for (const name of requested.get(process) ?? []) {
      if (objects.get(persistentVolumes, { name }) === undefined) orphaned.add(name);
    }
    for (const [handle, by] of deleted)
      if (by === process && volumeOf(stage, handle) !== undefined) deleted.delete(handle);
  }

  /** A leader whose term is over has lost its memory, also where its process goes on. */
  function lookAtTerm(): void {
    const name = leaseOf.get('CreateVolume') ?? '';
    const { holderIdentity, acquireTime } = objects.get(leases, { namespace: leaseNamespace, name })?.spec ?? {};
    const now = `${holderIdentity} ${acquireTime}`;
    if (now === term) return;
    const [leader] = term.split(' ');
    for (const process of requested.keys()) if (podOf(process) === leader) afterDeath(process);
    term = now;
  }

  function lookAtVolumes(): void {
    const names = new Set<string>();
    const held = ownVolumes(stage);
    const known = new Set(held.map(({ spec }) => spec?.csi?.volumeHandle ?? ''));
    for (const { id, name, phase } of driver.volumes()) {
      if (phase !== 'ready') continue;
      if (names.has(name)) breach(`one-volume: two volumes are named ${name}`);
      names.add(name);
      made.set(name, (made.get(name) ?? new Set()).add(id));
      if (recorded.has(id) && !known.has(id) && !retained.has(id))
        breach(`recorded: volume ${name} has lost its PersistentVolume`);
    }
    for (const { spec } of held) {
      const isRetained = spec?.persistentVolumeReclaimPolicy === 'Retain';
      (isRetained ? retained : recorded).add(spec?.csi?.volumeHandle ?? '');
    }
  }

  return {
    beforeCall({ process, method, request: { name, volume_id: handle } }) {
      if (method === 'CreateVolume') beforeCreation(process, String(name));
      if (method === 'DeleteVolume') beforeDeletion(String(handle));
    },
    answered({ process, method, request: { name, volume_id: handle }, code }) {
      if (method === 'CreateVolume') noteRefusal(String(name), code);
      if (method === 'DeleteVolume' && code === 'OK') deleted.set(String(handle), process);
    },
    heard(answer) {
      if (answer.method === 'CreateVolume') noteAnswer(answer);
    },
    afterDeath,
    look: lookAtVolumes,
    lookAtLeases: lookAtTerm,
  };
}
