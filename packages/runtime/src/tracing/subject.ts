// SPDX-License-Identifier: Apache-2.0
/**
 * Which trace an object belongs to, and by which names it is found. A volume belongs to the trace of its claim, and the content of a
 * snapshot to that of the snapshot, so that the programs that work on them write one trace.
 */
import type { KubeObject } from '../api/objects.ts';
import type { Attributes, TraceSubject } from './tracer.ts';

const traceparentAnnotation = 'tracing.k8s.io/traceparent';
const traceparentLength = 55;

/** True for the annotation that names a trace, unless it is longer than a W3C trace context. A transform that drops annotations keeps it. */
export function isTraceparent(name: string, value: string): boolean {
  return name === traceparentAnnotation && value.length <= traceparentLength;
}

/** What of an object is read, whatever its kind. Another kind has none of it. */
interface Traced extends KubeObject {
  readonly spec?: {
    readonly claimRef?: Reference | undefined;
    readonly volumeSnapshotRef?: Reference | undefined;
    readonly volumeGroupSnapshotRef?: Reference | undefined;
    readonly volumeName?: string | undefined;
    readonly nodeName?: string | undefined;
    readonly source?: { readonly persistentVolumeName?: string | undefined } | undefined;
  };
}

interface Reference {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
}

/** `volume`: the volume of an object that names no claim itself, such as a VolumeAttachment. */
export function subjectOf(object: Traced | undefined, volume: Traced | undefined): TraceSubject {
  const { spec, metadata }: Traced = object ?? {};
  const owner = spec?.claimRef ?? spec?.volumeSnapshotRef ?? spec?.volumeGroupSnapshotRef;
  const claim = volume?.spec?.claimRef;
  return {
    uid: present(owner?.uid) ?? present(claim?.uid) ?? present(metadata?.uid),
    traceparent: metadata?.annotations?.[traceparentAnnotation],
  };
}

/** The names under which people look for the object. */
export function namesOf(object: Traced | undefined, volume: Traced | undefined): Attributes {
  if (object === undefined) return {};
  const { spec, metadata, kind } = object;
  const claim = spec?.claimRef ?? volume?.spec?.claimRef;
  const isClaim = kind === 'PersistentVolumeClaim';
  const ownVolume = kind === 'PersistentVolume' ? metadata?.name : undefined;
  return {
    'csi_sidecars.object.uid': present(metadata?.uid),
    'k8s.namespace.name': present(metadata?.namespace) ?? present(claim?.namespace),
    'k8s.persistentvolumeclaim.name': isClaim ? metadata?.name : present(claim?.name),
    'k8s.persistentvolume.name':
      ownVolume ?? present(spec?.source?.persistentVolumeName) ?? (isClaim ? present(spec?.volumeName) : undefined),
    'k8s.node.name': present(spec?.nodeName),
  };
}

function present(text: string | undefined): string | undefined {
  return typeof text === 'string' && text !== '' ? text : undefined;
}
