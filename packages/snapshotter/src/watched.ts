// SPDX-License-Identifier: Apache-2.0
/**
 * What csi-snapshotter watches, and how little of it is kept.
 *
 * | kind | kept | as |
 * |---|---|---|
 * | VolumeSnapshotContent, VolumeGroupSnapshotContent | those of this driver; with `--node-deployment` the server selects those of the node | everything but managed fields and owners |
 * | VolumeSnapshotClass, VolumeGroupSnapshotClass | all | driver name, and of this driver's classes the parameters; with the alpha gate VolumeSnapshotTopology their `allowedTopologies` |
 */
import { definedOnly, identityOf, type InformerOptions, type Resource } from '@csi-sidecars/runtime';
import { managedByLabel } from '@csi-sidecars/volume';
import type { ContentWatches } from './content-loop.ts';
import type { AnyClass, AnyContent, ContentKind, ContentTypes } from './content-types.ts';

export interface WatchedOptions {
  readonly driverName: string;
  readonly resyncMs: number;
  /** Undefined: the contents of all nodes. */
  readonly nodeName: string | undefined;
  /** `on`: the creation time of a content is kept. Default `off`. */
  readonly audit?: 'on' | 'off';
  /** `on`: the topologies of a class are kept. Default `off`. */
  readonly topology?: 'on' | 'off';
}

/** Classes carry no label of a node. */
export function watchesOf<T extends ContentTypes>(kind: ContentKind<T>, options: WatchedOptions): ContentWatches<T> {
  return { contents: watchedContents(kind, options), classes: watchedClasses(kind.classes, options) };
}

/** Index `class`: by the class that a content names. */
function watchedContents<T extends ContentTypes>(
  { resource, classNameOf }: ContentKind<T>,
  { driverName, resyncMs, nodeName, audit = 'off' }: WatchedOptions,
): InformerOptions<T['content']> {
  return {
    resource,
    resyncMs,
    ...(nodeName === undefined ? {} : { labelSelector: `${managedByLabel}=${nodeName}` }),
    indexers: {
      class: (content) => {
        const className = classNameOf(content);
        return className === undefined ? [] : [className];
      },
    },
    transform: {
      id: `csi-snapshotter contents of ${driverName}${audit === 'on' ? ', audited' : ''}`,
      apply: (content) => (content.spec?.driver === driverName ? trimContent(content, audit) : undefined),
    },
  };
}

function trimContent<C extends AnyContent>(content: C, audit: 'on' | 'off'): C {
  const { metadata, spec, status } = content;
  const { annotations, labels, finalizers, deletionTimestamp, generation } = metadata ?? {};
  const creationTimestamp = audit === 'on' ? metadata?.creationTimestamp : undefined;
  const kept = {
    ...identityOf(metadata),
    ...definedOnly({ annotations, labels, finalizers, deletionTimestamp, generation, creationTimestamp }),
  };
  return { metadata: kept, ...definedOnly({ spec, status }) } as C;
}

function watchedClasses<C extends AnyClass>(
  resource: Resource<C>,
  { driverName, topology = 'off' }: WatchedOptions,
): InformerOptions<C> {
  return {
    resource,
    transform: {
      id: `csi-snapshotter classes of ${driverName}${topology === 'on' ? ', with topologies' : ''}`,
      apply: (found: AnyClass) => {
        const { metadata, driver, parameters } = found;
        const isOurs = driver === driverName;
        const allowed = topology === 'on' && 'allowedTopologies' in found ? found.allowedTopologies : undefined;
        const kept: AnyClass = {
          metadata: identityOf(metadata),
          ...definedOnly({ driver }),
          ...(isOurs ? definedOnly({ parameters, allowedTopologies: allowed }) : {}),
        };
        return kept as C;
      },
    },
  };
}
