// SPDX-License-Identifier: Apache-2.0
/**
 * A volume populator: claims whose `dataSourceRef` is a Hello get a volume with a file of this text, and csi-provisioner makes the volume. As in
 * lib-volume-populator, a second claim, prime, gets the volume, a pod fills it, and then the PersistentVolume is given to the claim.
 *
 * | Row | Claim | What is done |
 * |---|---|---|
 * | P1 | gone, in the namespace of the populator, or of another source | nothing |
 * | P2 | bound, and prime has lost its volume or is gone; or being deleted; with our finalizer | remove pod, prime, finalizer |
 * | P3 | bound, and prime still has the volume | wait |
 * | P4 | its Hello, its class, or the node of its first pod is missing | wait |
 * | P5 | no prime | finalizer, and then prime |
 * | P6 | no pod | create it |
 * | P7 | the pod has failed | remove it, and try again |
 * | P8 | the pod has not ended, or prime has no volume yet | wait |
 * | P9 | the pod has succeeded | give the volume to the claim |
 */
import {
  addFinalizer,
  conclude,
  type Conclusion,
  defineLoop,
  done,
  type EventRecorder,
  type Flow,
  ignoreNotFound,
  isAlreadyExists,
  isNotFound,
  keyOf,
  type KubeObject,
  type Loop,
  type LoopTypes,
  orEnd,
  perform,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
  removeFinalizer,
  type Resource,
  retry,
  type Run,
  runController,
  type RunControllerOptions,
  type StorageClass,
  storageClasses,
  toObjectKey,
} from '@csi-sidecars/runtime';

interface Hello extends KubeObject {
  readonly spec: { readonly fileName: string; readonly fileContents: string };
}

const group = 'hello.example.com';
const hellos: Resource<Hello> = { group, version: 'v1', plural: 'hellos', kind: 'Hello', namespaced: true };
const finalizer = `${group}/populate-target-protection`;
const selectedNode = 'volume.kubernetes.io/selected-node';

interface Context {
  /** Where prime and the pod are. Claims there are never populated. */
  readonly namespace: string;
  /** With a shell. */
  readonly image: string;
  readonly events: EventRecorder;
}

/** The key is the uid of the claim: the names of prime and pod are made from it, and a claim that is made again is another one. */
interface Populate extends LoopTypes {
  key: string;
  watched: {
    claims: PersistentVolumeClaim;
    hellos: Hello;
    classes: StorageClass;
    pods: Pod;
    volumes: PersistentVolume;
  };
  observed: Observed;
  conclusion: Conclusion;
  context: Context;
}

interface Observed {
  readonly claim: PersistentVolumeClaim | undefined;
  readonly hello: Hello | undefined;
  /** `undefined`: not known yet. Null: any. */
  readonly node: string | null | undefined;
  readonly prime: PersistentVolumeClaim | undefined;
  readonly pod: Pod | undefined;
  readonly volume: PersistentVolume | undefined;
}

type Step = Run<Populate>;

const primeOf = (uid: string): string => `prime-${uid}`;
const podOf = (uid: string): string => `populate-${uid}`;
const uidOf = ({ metadata }: KubeObject): string => metadata?.uid ?? '';

function sourceOf({ metadata, spec }: PersistentVolumeClaim): string | undefined {
  const { apiGroup, kind, name, namespace = metadata?.namespace } = spec?.dataSourceRef ?? {};
  const isOurs = apiGroup === group && kind === 'Hello' && namespace === metadata?.namespace;
  return isOurs && name !== undefined ? `${namespace}/${name}` : undefined;
}

function* populate(observed: Observed): Flow<Conclusion> {
  const { claim, hello, node, prime, pod, volume } = observed;
  const again = (row: string) => (failure: Error) => conclude(row, retry(failure));
  if (claim === undefined) return conclude('P1', done);
  const isBound = (claim.spec?.volumeName ?? '') !== '';
  if (isBound || claim.metadata?.deletionTimestamp !== undefined) {
    if (isBound && prime !== undefined && prime.status?.phase !== 'Lost') return conclude('P3', done);
    if (!claim.metadata?.finalizers?.includes(finalizer)) return conclude('P1', done);
    yield* orEnd(perform('P2', cleanUp, claim), again('P2'));
    return conclude('P2', done);
  }
  if (hello === undefined || node === undefined) return conclude('P4', done);
  if (prime === undefined) {
    // The finalizer first: a claim that is deleted in between leaves nothing behind.
    yield* orEnd(perform('P5', protect, claim), again('P5'));
    yield* orEnd(perform('P5', createPrime, claim, node), again('P5'));
  }
  if (pod === undefined) {
    yield* orEnd(perform('P6', createPod, { claim, hello, node }), again('P6'));
    return conclude('P6', done);
  }
  if (pod.status?.phase === 'Failed') {
    yield* orEnd(perform('P7', removePod, claim, pod), (failure) =>
      conclude('P7', isNotFound(failure) ? done : retry(failure)),
    );
    return conclude('P7', retry(new Error(`the pod has failed: ${pod.status.message ?? ''}`)));
  }
  if (pod.status?.phase !== 'Succeeded' || volume === undefined) return conclude('P8', done);
  if (volume.spec?.claimRef?.uid !== uidOf(claim)) yield* orEnd(perform('P9', give, volume, claim), again('P9'));
  return conclude('P9', done);
}

async function protect(step: Step, claim: PersistentVolumeClaim): Promise<void> {
  if (claim.metadata?.finalizers?.includes(finalizer)) return;
  const target = { resource: persistentVolumeClaims, object: claim, finalizer };
  await addFinalizer({ ...step, cache: step.caches.claims }, target, step.signal);
}

/** Undefined if it is there: an earlier run has created it, and the cache does not show it yet. */
const ignoreThere = (error: unknown): undefined => {
  if (!isAlreadyExists(error)) throw error;
};

async function createPrime(step: Step, { metadata, spec }: PersistentVolumeClaim, node: string | null): Promise<void> {
  const { client, context, signal } = step;
  const { accessModes, resources, storageClassName, volumeMode } = spec ?? {};
  const annotated = node !== null && { annotations: { [selectedNode]: node } };
  const prime = {
    metadata: { name: primeOf(metadata?.uid ?? ''), namespace: context.namespace, ...annotated },
    spec: { accessModes, resources, storageClassName, volumeMode },
  };
  await client.create(persistentVolumeClaims, prime as PersistentVolumeClaim, { signal }).catch(ignoreThere);
}

interface Filled {
  readonly claim: PersistentVolumeClaim;
  readonly hello: Hello;
  readonly node: string | null;
}

async function createPod({ client, context, signal }: Step, { claim, hello, node }: Filled): Promise<void> {
  const { namespace, image, events } = context;
  const isBlock = claim.spec?.volumeMode === 'Block';
  const { fileName, fileContents } = hello.spec;
  const script = isBlock ? 'printf %s "$TEXT" > /dev/block' : 'printf %s "$TEXT" > "/mnt/vol/$FILE"';
  const container = {
    name: 'populate',
    image,
    // Of a Hello nothing is a part of the script.
    command: ['sh', '-c', `${script} && sync`],
    env: [
      { name: 'FILE', value: fileName },
      { name: 'TEXT', value: fileContents },
    ],
    ...(isBlock
      ? { volumeDevices: [{ name: 'target', devicePath: '/dev/block' }] }
      : { volumeMounts: [{ name: 'target', mountPath: '/mnt/vol' }] }),
  };
  const spec: Pod['spec'] = {
    restartPolicy: 'Never',
    containers: [container],
    volumes: [{ name: 'target', persistentVolumeClaim: { claimName: primeOf(uidOf(claim)) } }],
    ...(node !== null && { nodeName: node }),
  };
  const pod = { metadata: { name: podOf(uidOf(claim)), namespace }, spec };
  if ((await client.create(pods, pod, { signal }).catch(ignoreThere)) === undefined) return;
  events.record(claim, { type: 'Normal', reason: 'PopulatorCreated', message: 'Populator started' });
}

async function removePod({ client, context, signal }: Step, claim: KubeObject, pod: Pod): Promise<void> {
  const ref = { namespace: context.namespace, name: pod.metadata?.name ?? '' };
  await client.delete(pods, ref, { signal, preconditions: { uid: uidOf(pod) } });
  const message = `Populator failed: ${pod.status?.message ?? ''}`;
  context.events.record(claim, { type: 'Warning', reason: 'PopulatorFailed', message });
}

/** The volume of prime. kube-controller-manager then binds the claim, and prime is Lost. */
async function give({ client, signal }: Step, volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<void> {
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = claim.metadata ?? {};
  const body = {
    metadata: {
      resourceVersion: volume.metadata?.resourceVersion,
      annotations: { [`${group}/populated-from`]: `${namespace}/${claim.spec?.dataSourceRef?.name}` },
    },
    spec: { claimRef: { namespace, name, uid, resourceVersion } },
  };
  const ref = { name: volume.metadata?.name ?? '' };
  await client.patch({ resource: persistentVolumes, ref }, { type: 'merge', body }, { signal });
}

async function cleanUp(step: Step, claim: PersistentVolumeClaim): Promise<void> {
  const { client, caches, key, context, signal } = step;
  const { namespace, events } = context;
  await client.delete(pods, { namespace, name: podOf(key) }, { signal }).catch(ignoreNotFound);
  await client.delete(persistentVolumeClaims, { namespace, name: primeOf(key) }, { signal }).catch(ignoreNotFound);
  if (claim.metadata?.deletionTimestamp === undefined)
    events.record(claim, { type: 'Normal', reason: 'PopulatorFinished', message: 'Populator finished' });
  const target = { resource: persistentVolumeClaims, object: claim, finalizer };
  await removeFinalizer({ ...step, cache: caches.claims }, target, signal);
}

function populatorLoop(context: Context): Loop {
  const { namespace } = context;
  const ofName = (prefix: string, object: KubeObject | undefined): string | undefined => {
    const { name = '', namespace: place } = object?.metadata ?? {};
    return place === namespace && name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
  };
  return defineLoop<Populate>({
    name: 'populator',
    settings: { workerThreads: 4, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 300_000 },
    watches: {
      claims: {
        resource: persistentVolumeClaims,
        indexers: {
          uid: (claim) => [uidOf(claim)],
          source: (claim) => [sourceOf(claim) ?? ''],
          class: (claim) => (sourceOf(claim) === undefined ? [] : [claim.spec?.storageClassName ?? '']),
        },
      },
      hellos: { resource: hellos },
      classes: { resource: storageClasses },
      pods: { resource: pods, namespace },
      volumes: { resource: persistentVolumes },
    },
    primary: { watch: 'claims', keyOf: uidOf },
    handlers: {
      claims: ({ current, previous }) => {
        const claim = current ?? previous;
        return ofName('prime-', claim) ?? (claim && sourceOf(claim) !== undefined ? uidOf(claim) : undefined);
      },
      hellos: ({ current }, { claims }) => (current ? claims.byIndex('source', keyOf(current)).map(uidOf) : undefined),
      classes: ({ current }, { claims }) => claims.byIndex('class', current?.metadata?.name ?? '').map(uidOf),
      pods: ({ current, previous }) => ofName('populate-', current ?? previous),
      volumes: ({ current }) => ofName('prime-', current && { metadata: current.spec?.claimRef ?? {} }),
    },
    observe: ({ claims, hellos: sources, classes, pods: all, volumes }, uid) => {
      const claim = claims.byIndex('uid', uid).find((each) => each.metadata?.namespace !== namespace);
      const source = claim && sourceOf(claim);
      const prime = claims.get(toObjectKey(namespace, primeOf(uid)));
      const volumeName = prime?.spec?.volumeName ?? '';
      return {
        claim: source === undefined ? undefined : claim,
        hello: source === undefined ? undefined : sources.get(source as ReturnType<typeof keyOf>),
        node: claim && nodeOf(claim, classes.get(toObjectKey(undefined, claim.spec?.storageClassName ?? ''))),
        prime,
        pod: all.get(toObjectKey(namespace, podOf(uid))),
        volume: volumeName === '' ? undefined : volumes.get(toObjectKey(undefined, volumeName)),
      };
    },
    context,
    flow: populate,
  });
}

function nodeOf({ metadata }: PersistentVolumeClaim, of: StorageClass | undefined): string | null | undefined {
  if (of === undefined) return undefined;
  return of.volumeBindingMode === 'WaitForFirstConsumer' ? metadata?.annotations?.[selectedNode] : null;
}

const { KUBECONFIG: kubeconfig, LISTEN: listen = ':8080', IMAGE: image = 'busybox', NAMESPACE = 'hello' } = process.env;

export const controller: RunControllerOptions = {
  name: 'populator',
  loops: ({ events }) => [populatorLoop({ namespace: NAMESPACE, image, events })],
  lease: { name: 'populator' },
  rules: [
    { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'create', 'patch', 'delete'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['create', 'delete'] },
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  ],
};

if (import.meta.main) await runController({ ...controller, kubeconfig, listen });
