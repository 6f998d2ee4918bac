// SPDX-License-Identifier: Apache-2.0
/**
 * What the cluster records, read after the driver's list. What speaks against an orphan is read last, so that it is newer than the list:
 * first attachments, claims and pods, then PersistentVolumes and contents. Of each object only what is compared is kept.
 */
import {
  csiDrivers,
  csiNodes,
  type CSINode,
  type KubeObject,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
  type Resource,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import {
  driverOn,
  inTreePluginOf,
  isBeingCreated,
  isResizing,
  memberHandlesOf,
  type OpenWork,
  type RecordedAttachment,
  recordedAttachmentOf,
  type RecordedSnapshot,
  recordedSnapshotOf,
  type RecordedVolume,
  recordedVolumeOf,
  selectsNode,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
} from '@csi-sidecars/volume';
import type { Because, Reader } from '../cluster/reader.ts';
import { CommandError, exits } from '../command/exit-codes.ts';
import { claimNamesOf, provisionerOf } from '../facts/objects.ts';

/** What was read of one kind. `because`: why it was not read, or not to its end. */
export type Part<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'unread'; readonly because: Because };

export interface ClusterList {
  /** Some object names the driver. */
  readonly isKnown: boolean;
  readonly volumes: Part<readonly RecordedVolume[]>;
  readonly attachments: Part<readonly RecordedAttachment[]>;
  readonly nodeIds: Part<ReadonlySet<string>>;
  readonly openWork: OpenWork;
  readonly snapshots: Part<readonly RecordedSnapshot[]>;
  readonly members: ReadonlySet<string>;
  readonly snapshotSources: ReadonlySet<string>;
  readonly snapshotWork: OpenWork;
}

export const csiDriverNotKnown = 'whether the driver has volumes inside pods';

export interface ListOptions {
  readonly driver: string;
  /** Empty: the driver is not one of a single node. */
  readonly node: string;
}

/** Enough for half a million objects of each kind. What is beyond is not cut silently: the kind counts as unread. */
const mostPages = 1_000;

export async function readCluster(reader: Reader, { driver, node }: ListOptions): Promise<ClusterList> {
  const isElsewhere = await elsewhere(reader, node);
  const csiDriver = await reader.get(csiDrivers, { name: driver }, csiDriverNotKnown);
  const mayBeInPods =
    csiDriver.kind === 'unknown' ||
    (csiDriver.kind === 'found' && (csiDriver.value.spec.volumeLifecycleModes ?? []).includes('Ephemeral'));
  const attachments: VolumeAttachment[] = [];
  const nodeIdOf = new Map<string, string>();
  const resizing = new Set<string>();
  const open: string[] = [];
  const [attached, registered, asked, inPods] = await Promise.all([
    fold(reader, { resource: volumeAttachments, notKnown: 'what is attached' }, (object: VolumeAttachment) => {
      if (object.spec.attacher === driver) attachments.push(object);
    }),
    fold(reader, { resource: csiNodes, notKnown: 'where the driver runs' }, (object: CSINode) => {
      const entry = driverOn(object, driver);
      if (entry !== undefined) nodeIdOf.set(object.metadata?.name ?? '', entry.nodeID);
    }),
    fold(
      reader,
      { resource: persistentVolumeClaims, notKnown: 'which volumes are asked for' },
      (claim: PersistentVolumeClaim) => {
        const name = `${claim.metadata?.namespace}/${claim.metadata?.name}`;
        if (isResizing(claim)) resizing.add(name);
        if (open.length === 0 && isOpen(claim, driver)) open.push(`claim ${name} may have a call under way`);
      },
    ),
    mayBeInPods
      ? fold(reader, { resource: pods, notKnown: 'which pods have volumes inside' }, (pod: Pod) => {
          const isInside = (pod.spec?.volumes ?? []).some(({ csi }) => csi?.driver === driver);
          if (open.length === 0 && isInside)
            open.push(`pod ${pod.metadata?.namespace}/${pod.metadata?.name} has a volume inside`);
        })
      : nothing,
  ]);
  const options = {
    isClaimResizing: ({ namespace, name }: { readonly namespace: string; readonly name: string }) =>
      resizing.has(`${namespace}/${name}`),
    isElsewhere,
  };
  const volumes: RecordedVolume[] = [];
  const contents = emptyContents();
  const [recorded, snapshots, groups] = await Promise.all([
    fold(
      reader,
      { resource: persistentVolumes, notKnown: 'which volumes are recorded' },
      (volume: PersistentVolume) => {
        const record = recordedVolumeOf(volume, driver, options);
        if (record !== undefined) volumes.push(record);
      },
    ),
    fold(
      reader,
      { resource: volumeSnapshotContents, notKnown: 'which snapshots are recorded' },
      (content: VolumeSnapshotContent) => addContent(contents, content, driver),
    ),
    fold(
      reader,
      { resource: volumeGroupSnapshotContents, notKnown: 'which snapshots groups have' },
      (content: VolumeGroupSnapshotContent) => {
        if (content.spec?.driver !== driver) return;
        for (const handle of memberHandlesOf(content)) contents.members.add(handle);
        if (isBeingCreated(content)) contents.open.push(`group content ${content.metadata?.name} is being created`);
      },
    ),
  ]);
  const handles = new Map(volumes.map(({ name, handle }) => [name, handle]));
  const attachmentOptions = {
    driver,
    nodeIdOf: (name: string) => nodeIdOf.get(name),
    handleOf: (name: string) => handles.get(name),
  };
  // A kind that the API server does not serve has no objects.
  const areContentsKnown = [snapshots, groups].every((part) => part.kind === 'read' || part.because === 'absent');
  return {
    isKnown: csiDriver.kind !== 'absent' || nodeIdOf.size > 0 || volumes.length > 0 || contents.recorded.length > 0,
    volumes: withValue(recorded, volumes),
    attachments: withValue(
      attached,
      attachments.flatMap((object) => recordedAttachmentOf(object, attachmentOptions) ?? []),
    ),
    nodeIds: withValue(registered, new Set(nodeIdOf.values())),
    openWork: workOf(open, [
      asked,
      inPods,
      snapshots.kind === 'unread' && snapshots.because === 'absent' ? nothing : snapshots,
    ]),
    snapshots: withValue(snapshots, contents.recorded),
    members: contents.members,
    snapshotSources: contents.sources,
    snapshotWork: areContentsKnown ? workOf(contents.open, []) : { kind: 'unknown' },
  };
}

interface Contents {
  readonly recorded: RecordedSnapshot[];
  readonly members: Set<string>;
  readonly sources: Set<string>;
  readonly open: string[];
}

function emptyContents(): Contents {
  return { recorded: [], members: new Set(), sources: new Set(), open: [] };
}

function addContent({ recorded, sources, open }: Contents, content: VolumeSnapshotContent, driver: string): void {
  if (content.spec?.driver !== driver) return;
  const record = recordedSnapshotOf(content, driver);
  if (record !== undefined) recorded.push(record);
  const source = content.spec.source?.volumeHandle;
  if (source !== undefined) sources.add(source);
  if (isBeingCreated(content)) open.push(`content ${content.metadata?.name} is being created`);
}

const nothing: Part<undefined> = { kind: 'read', value: undefined };

/** Reads a whole collection, and hands each object on without keeping it. */
async function fold<T extends KubeObject>(
  reader: Reader,
  { resource, notKnown }: { readonly resource: Resource<T>; readonly notKnown: string },
  take: (object: T) => void,
): Promise<Part<undefined>> {
  const keep = (object: T): undefined => take(object) as undefined;
  const read = await reader.list(resource, { most: mostPages, keep }, notKnown);
  if (read.kind === 'unknown') return { kind: 'unread', because: read.because };
  const isCut = reader
    .missing()
    .some(
      ({ because, resource: plural, group }) =>
        because === 'limit' && plural === resource.plural && group === resource.group,
    );
  return isCut ? { kind: 'unread', because: 'limit' } : nothing;
}

function withValue<T>(part: Part<undefined>, value: T): Part<T> {
  return part.kind === 'read' ? { kind: 'read', value } : part;
}

function workOf(open: readonly string[], parts: readonly Part<undefined>[]): OpenWork {
  const [what] = open;
  if (what !== undefined) return { kind: 'open', what };
  return parts.every(({ kind }) => kind === 'read') ? { kind: 'none' } : { kind: 'unknown' };
}

/** The finalizer of csi-provisioner, of version 0.1 without the driver's name. */
const provisioningFinalizers = {
  prefix: 'provisioning-protection.provisioner.storage.kubernetes.io/',
  unnamed: 'provisioner.storage.kubernetes.io/provisioning-protection',
} as const;

/** A CreateVolume may be under way: the driver is asked for a volume that is not recorded yet, or was asked. */
function isOpen(claim: PersistentVolumeClaim, driver: string): boolean {
  const provisioner = provisionerOf(claim);
  const isAsked = provisioner === driver || (provisioner !== undefined && provisioner === inTreePluginOf(driver));
  const finalizers = claim.metadata?.finalizers ?? [];
  const isProtected =
    finalizers.includes(`${provisioningFinalizers.prefix}${driver}`) ||
    (isAsked && finalizers.includes(provisioningFinalizers.unnamed));
  return isProtected || (isAsked && (claim.spec?.volumeName ?? '') === '');
}

/** Which volumes belong to other nodes than the one whose driver was asked. */
async function elsewhere(reader: Reader, name: string): Promise<(volume: PersistentVolume) => boolean> {
  if (name === '') return () => false;
  const node = await reader.get(nodes, { name }, 'which volumes belong to the node');
  if (node.kind !== 'found') throw new CommandError(exits.failed, `node ${name} cannot be read`);
  const selectable = { name, labels: node.value.metadata?.labels };
  return ({ spec }) => {
    const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms;
    return terms !== undefined && !selectsNode(terms, selectable);
  };
}

/** The PersistentVolume is there, and neither it nor its volume is being deleted. */
export async function isStillBound(reader: Reader, name: string): Promise<boolean> {
  const read = await reader.getAgain(persistentVolumes, { name }, 'whether the volume was deleted meanwhile');
  return (
    read.kind === 'found' &&
    read.value.metadata?.deletionTimestamp === undefined &&
    read.value.status?.phase !== 'Released'
  );
}

/** The pods that use a claim, of those in its namespace. */
export async function usersOf(
  reader: Reader,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<readonly string[]> {
  const keep = (pod: Pod): Pod | undefined =>
    (pod.spec?.volumes ?? []).some(({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim ?? ephemeral)
      ? { metadata: { name: pod.metadata?.name ?? '' }, spec: { containers: [], volumes: pod.spec?.volumes ?? [] } }
      : undefined;
  const read = await reader.list(
    pods,
    { namespace, keep, keptAs: 'names of claims' },
    `which pods use claims of ${namespace}`,
  );
  if (read.kind !== 'found') return [];
  return read.value.filter((pod) => claimNamesOf(pod).includes(name)).map((pod) => pod.metadata?.name ?? '');
}
