// SPDX-License-Identifier: Apache-2.0
/** Stands in for csi-snapshotter in flows that run without it. */
import type { KubeObject, Resource } from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  snapshotFinalizers as finalizers,
  volumeGroupSnapshotContents,
  volumeSnapshotContents,
} from '@csi-sidecars/volume';
import type { Fixture } from './controller-fixture.ts';

/** It cuts what is not cut, and lets go what is marked and being deleted. */
export function playSidecar({ server }: Fixture): void {
  const kinds = [
    { resource: volumeSnapshotContents, mark: snapshotAnnotations.beingDeleted, finalizer: finalizers.content },
    {
      resource: volumeGroupSnapshotContents,
      mark: snapshotAnnotations.groupBeingDeleted,
      finalizer: finalizers.groupContent,
    },
  ] as const;
  for (const { resource, mark, finalizer } of kinds) {
    for (const content of server.objects.list<Content>(resource as unknown as Resource<Content>)) {
      const { name = '', deletionTimestamp, annotations, finalizers: held } = content.metadata ?? {};
      const change = (how: (known: Content) => Content): void =>
        void server.objects.change(resource as unknown as Resource<Content>, { name }, how);
      if (deletionTimestamp !== undefined) {
        if (annotations?.[mark] !== undefined && held?.includes(finalizer) === true) {
          server.objects.remove(resource, { name });
        }
      } else if (content.status?.readyToUse !== true && isBound(content)) change(cut);
    }
  }
}

export interface Content extends KubeObject {
  readonly spec?: {
    readonly volumeSnapshotRef?: { readonly uid?: string };
    readonly volumeGroupSnapshotRef?: { readonly uid?: string };
    readonly source?: { readonly volumeHandles?: readonly string[] };
  };
  readonly status?: { readonly readyToUse?: boolean };
}

export function isBound({ spec }: Content): boolean {
  return ((spec?.volumeSnapshotRef ?? spec?.volumeGroupSnapshotRef)?.uid ?? '') !== '';
}

function cut(content: Content): Content {
  const { volumeGroupSnapshotRef, source } = content.spec ?? {};
  const grouped = {
    volumeGroupSnapshotHandle: 'g1',
    volumeSnapshotInfoList: (source?.volumeHandles ?? []).map((volumeHandle) => ({
      volumeHandle,
      snapshotHandle: `of-${volumeHandle}`,
      readyToUse: true,
    })),
  };
  const status = { readyToUse: true, ...(volumeGroupSnapshotRef === undefined ? { snapshotHandle: 's1' } : grouped) };
  return { ...content, status };
}
