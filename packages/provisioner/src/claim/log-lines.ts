// SPDX-License-Identifier: Apache-2.0
/** Log lines of a run, with upstream's levels and words. Failures are logged by the workers, with the retry. */
import type { Facts, Logger, PersistentVolume } from '@csi-sidecars/runtime';
import { bytesOf } from '../source/source-answer.ts';
import { classNameOf } from '../metadata.ts';
import type { Conclusion, Known, Observed } from './state.ts';

type Named = Pick<Known, 'claim' | 'volumeName'>;

export function claimFacts({ claim, volumeName }: Named): Facts {
  const { namespace = '', name = '' } = claim.metadata ?? {};
  return { PVC: `${namespace}/${name}`, StorageClass: classNameOf(claim), PV: volumeName };
}

export function logStart(logger: Logger, claim: Named): void {
  logger.info(4, 'Started', claimFacts(claim));
}

/** Upstream's texts about a snapshot that is used although it is being deleted, or is smaller than the claim. */
export function logSource(logger: Logger, { claim, dataSource, source }: Known): void {
  if (dataSource.kind !== 'source' || source?.kind !== 'snapshot' || source.snapshot.kind !== 'found') return;
  const { namespace, name } = dataSource.ref;
  const { metadata, status } = source.snapshot.object;
  if (metadata?.deletionTimestamp !== undefined) {
    logger.info(
      3,
      `Snapshot ${namespace}/${name} is being deleted but has volumesnapshot-as-source-protection finalizer, allowing provisioning to continue`,
    );
  }
  const requested = bytesOf(claim.spec?.resources?.requests?.['storage'] ?? '');
  const size = bytesOf(status?.restoreSize ?? '');
  if (requested === undefined || size === undefined || requested <= size) return;
  logger.warn(
    `requested volume size ${requested} is greater than the size ${size} for the source snapshot ${name}. Volume plugin needs to handle volume expansion.`,
  );
}

/** Upstream's text, values included. */
export function logCreated(logger: Logger, { claim, created }: Known, { metadata }: PersistentVolume): void {
  const names = `PV ${metadata?.name ?? ''} for PVC ${claim.metadata?.name ?? ''}`;
  const volumeId = created?.kind === 'made' ? created.volume.volume_id : '';
  logger.info(2, `successfully created ${names} and csi volume name ${volumeId}`);
}

export function logEnd(logger: Logger, known: Observed, { row, outcome, counts, givenUp, events }: Conclusion): void {
  const facts = claimFacts(known);
  if (counts === 'success') return logger.info(4, 'Succeeded', facts);
  if (row === 'C62') return logger.warn('Stopped repeating CreateVolume for a claim, its volume may exist', facts);
  if (givenUp === 'yes') return logger.warn('Gave up a deleted claim, its volume may exist', facts);
  switch (row) {
    case 'C10':
      return logger.info(4, 'PersistentVolume already exists, skipping', facts);
    case 'C12':
      if (outcome.kind !== 'done') return;
      return logger.error(undefined, "Unknown provisioner requested in claim's StorageClass", {
        ...facts,
        provisioner: known.storageClass?.provisioner,
      });
    case 'C17':
    case 'C25':
      if (outcome.kind !== 'done') return;
      return logger.info(2, 'Volume rescheduled because', { ...facts, err: events[0]?.message });
    case 'C24':
      return logger.info(2, 'Detected infeasible volume provisioning request', facts);
    default:
  }
}
