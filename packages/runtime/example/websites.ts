// SPDX-License-Identifier: Apache-2.0
/**
 * The controller of a custom resource (`websites.crd.yaml`): each Website gets a ConfigMap with its page, a Deployment that serves it, and a name in a
 * zone outside of the cluster.
 *
 * | Row | Website | What is done |
 * |---|---|---|
 * | W1 | gone, or being deleted without our finalizer | nothing: the garbage collector deletes what it owns |
 * | W2 | being deleted | take its name out of the zone, and then the finalizer off |
 * | W3 | its name may not be in the zone | finalizer first, and then the name |
 * | W4 | its ConfigMap or its Deployment differs | apply both |
 * | W5 | Ready does not say how many pods serve it | write it, and an event when it becomes ready |
 *
 * A validating webhook refuses pages with scripts before they are stored.
 */
import {
  addFinalizer,
  applyObject,
  changeObject,
  conclude,
  type Conclusion,
  conditionOf,
  type ConfigMap,
  configMaps,
  controllerReference,
  defineLoop,
  type Deployment,
  deployments,
  done,
  type EventRecorder,
  type Flow,
  keyOf,
  type KubeObject,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  orEnd,
  ownedBy,
  perform,
  removeFinalizer,
  retry,
  type Run,
  runController,
  type RunControllerOptions,
  unlessAborted,
  withCondition,
  withDeadline,
} from '@csi-sidecars/runtime';
import {
  type AdmissionWebhook,
  allowed,
  defineWebhooks,
  denied,
  validatingWebhook,
} from '@csi-sidecars/runtime/webhook';
import { type Website, websites } from './websites.types.ts';

/** The zone, for example of a DNS provider. Both may be repeated. */
export interface Zone {
  readonly add: (name: string) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
}

interface Context {
  readonly zone: Zone;
  readonly events: EventRecorder;
}

interface Websites extends LoopTypes {
  key: ObjectKey;
  watched: { websites: Website; pages: ConfigMap; deployments: Deployment };
  observed: { website: Website | undefined; page: ConfigMap | undefined; deployment: Deployment | undefined };
  conclusion: Conclusion;
  context: Context;
}

type Step = Run<Websites>;

const finalizer = 'example.com/zone';
const fieldManager = 'websites';

export const zoneNameOf = ({ metadata }: KubeObject): string => `${metadata?.name}.${metadata?.namespace}.example.com`;

function* serve({ website, page, deployment }: Websites['observed']): Flow<Conclusion> {
  const again = (row: string) => (failure: Error) => conclude(row, retry(failure));
  if (website === undefined) return conclude('W1', done);
  const { deletionTimestamp, finalizers = [], generation } = website.metadata ?? {};
  if (deletionTimestamp !== undefined) {
    if (!finalizers.includes(finalizer)) return conclude('W1', done);
    yield* orEnd(perform('W2', release, website), again('W2'));
    return conclude('W2', done);
  }
  if (conditionOf(website.status?.conditions, 'Ready') === undefined) {
    yield* orEnd(perform('W3', publish, website), again('W3'));
  }
  if (page?.data?.['index.html'] !== website.spec.page || deployment?.spec?.replicas !== replicasOf(website)) {
    yield* orEnd(perform('W4', apply, website), again('W4'));
  }
  const ready = deployment?.status?.readyReplicas ?? 0;
  yield* orEnd(perform('W5', report, website, { ready, generation }), again('W5'));
  return conclude('W5', done);
}

const replicasOf = ({ spec }: Website): number => spec.replicas ?? 1;

async function release(step: Step, website: Website): Promise<void> {
  await inTime(step, step.context.zone.remove(zoneNameOf(website)));
  const target = { resource: websites, object: website, finalizer };
  await removeFinalizer({ ...step, cache: step.caches.websites }, target, step.signal);
}

async function publish(step: Step, website: Website): Promise<void> {
  const target = { resource: websites, object: website, finalizer };
  await addFinalizer({ ...step, cache: step.caches.websites }, target, step.signal);
  await inTime(step, step.context.zone.add(zoneNameOf(website)));
}

/** A service that does not answer would hold the key for ever. The call itself goes on: one that takes a signal gets `own`. */
function inTime({ clock, signal }: Step, call: Promise<void>): Promise<void> {
  return withDeadline(clock, { parent: signal, ms: 10_000 }, (own) => unlessAborted(call, own));
}

async function apply({ client, signal }: Step, website: Website): Promise<void> {
  const { namespace, name = '' } = website.metadata ?? {};
  const metadata = { namespace, name, ownerReferences: [controllerReference(websites, website)] };
  const data = { 'index.html': website.spec.page };
  await applyObject({ client }, { resource: configMaps, object: { metadata, data }, fieldManager }, { signal });
  const labels = { website: name };
  const container = {
    name: 'nginx',
    image: 'nginx:stable',
    volumeMounts: [{ name: 'page', mountPath: '/usr/share/nginx/html' }],
  };
  const spec = {
    replicas: replicasOf(website),
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [container], volumes: [{ name: 'page', configMap: { name } }] },
    },
  };
  await applyObject({ client }, { resource: deployments, object: { metadata, spec }, fieldManager }, { signal });
}

async function report(
  step: Step,
  website: Website,
  { ready, generation = 0 }: { readonly ready: number; readonly generation: number | undefined },
): Promise<void> {
  const wanted = replicasOf(website);
  const isReady = ready >= wanted;
  const condition = {
    type: 'Ready',
    status: isReady ? 'True' : 'False',
    reason: isReady ? 'Serving' : 'Starting',
    message: `${ready} of ${wanted} pods are ready`,
    observedGeneration: generation,
  } as const;
  const patch = ({ status }: Website) => {
    const conditions = withCondition(status?.conditions, condition, step.clock);
    return conditions === status?.conditions ? undefined : { status: { conditions } };
  };
  const change = { resource: websites, object: website, subresource: 'status', patch } as const;
  await changeObject({ ...step, cache: step.caches.websites }, change, { signal: step.signal });
  const before = conditionOf(website.status?.conditions, 'Ready')?.status;
  if (isReady && before !== 'True') {
    step.context.events.record(website, { type: 'Normal', reason: 'Serving', message: condition.message });
  }
}

function websitesLoop(context: Context): Loop {
  return defineLoop<Websites>({
    name: 'websites',
    settings: { workerThreads: 2, retryIntervalStartMs: 1_000, retryIntervalMaxMs: 60_000 },
    watches: {
      websites: { resource: websites },
      pages: { resource: configMaps },
      deployments: { resource: deployments },
    },
    primary: { watch: 'websites', keyOf },
    handlers: {
      websites: ({ current }) => current && keyOf(current),
      pages: ownedBy(websites),
      deployments: ownedBy(websites),
    },
    observe: (caches, key) => ({
      website: caches.websites.get(key),
      page: caches.pages.get(key),
      deployment: caches.deployments.get(key),
    }),
    context,
    flow: serve,
  });
}

/** What is stored already may stay: else an update of anything, our finalizer included, would be refused. */
export const pages: AdmissionWebhook = validatingWebhook({
  name: 'pages.websites.example.com',
  resource: websites,
  operations: ['CREATE', 'UPDATE'],
  validate: ({ object: { spec }, oldObject }) =>
    /<script/i.test(spec.page) && spec.page !== oldObject?.spec.page
      ? denied('spec.page: a page has no scripts', { code: 422, reason: 'Invalid' })
      : allowed,
});

export function controllerFor(zone: Zone): RunControllerOptions {
  const all = (group: string, resource: string, ...verbs: string[]) => ({
    apiGroups: [group],
    resources: [resource],
    verbs,
  });
  return {
    name: 'websites',
    loops: ({ events }) => [websitesLoop({ zone, events })],
    lease: { name: 'websites' },
    rules: [
      all('example.com', 'websites', 'get', 'patch'),
      all('example.com', 'websites/status', 'patch'),
      // With OwnerReferencesPermissionEnforcement an owned object is refused otherwise: its reference keeps the Website until it is gone.
      all('example.com', 'websites/finalizers', 'update'),
      all('', 'configmaps', 'create', 'patch'),
      all('apps', 'deployments', 'create', 'patch'),
      all('', 'events', 'create', 'patch'),
    ],
  };
}

/** Stands for a provider of names. */
const printedZone: Zone = {
  add: async (name) => console.log(`the zone has ${name}`),
  remove: async (name) => console.log(`the zone has no ${name}`),
};

const { KUBECONFIG: kubeconfig, LISTEN: listen = ':8080', WEBHOOKS, CERTIFICATES: certificates } = process.env;

export const controller: RunControllerOptions = {
  ...controllerFor(printedZone),
  webhooks: defineWebhooks({ webhooks: [pages], listen: WEBHOOKS, certificates }),
};

if (import.meta.main) {
  // The API server reaches a pod. Outside of the cluster it has to be given an address, and the webhook a certificate for it.
  const isReached = kubeconfig === undefined || WEBHOOKS !== undefined;
  await runController({ ...controller, kubeconfig, listen, ...(!isReached && { webhooks: undefined }) });
}
