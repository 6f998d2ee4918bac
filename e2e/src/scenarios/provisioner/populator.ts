// SPDX-License-Identifier: Apache-2.0
/** P-38 and N-14: the populator of the runtime's examples, with csi-provisioner beside it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import {
  ignoreNotFound,
  type KubeObject,
  leaseRules,
  namespaces,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type PolicyRule,
  type Pod,
  pods,
  type Resource,
} from '@csi-sidecars/runtime';
import { kubeconfigOf } from '../../accounts/kubeconfig-of.ts';
import { deployAll } from '../../deployment/deploy.ts';
import { podImage } from '../../images/images.ts';
import { repositoryRoot } from '../../processes/program.ts';
import { supervise } from '../../processes/supervised-process.ts';
import { claimed } from '../../workload/user-pods.ts';
import { commandAccount } from '../command.ts';
import type { ScenarioContext } from '../context.ts';
import { installDefinition } from '../install-definition.ts';
import { startUser, untilSaid } from '../node/user-steps.ts';
import { endPod } from '../pod-life.ts';
import type { Scenario } from '../scenario.ts';
import { selectNode } from './instances.ts';
import { createClaim, createClass, deleteClaim, eventsOf, untilBound } from './steps.ts';

const group = 'hello.example.com';
const hellos: Resource = { group, version: 'v1', plural: 'hellos', kind: 'Hello', namespaced: true };

/** What the example uses, everywhere. */
const rules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'create', 'delete'] },
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['list', 'watch'] },
  { apiGroups: [group], resources: ['hellos'], verbs: ['list', 'watch'] },
  ...leaseRules.map(({ apiGroups, resources, verbs }) => ({ apiGroups, resources, verbs })),
];

const text = "it's $HOME";
const dataSourceRef = { apiGroup: group, kind: 'Hello', name: 'greeting' };

export const populator: readonly Scenario[] = [
  {
    id: 'P-38',
    title:
      'the populator of the examples: a claim gets a volume that was filled, a pod that fails is replaced, and a claim that is deleted meanwhile leaves nothing',
    needs: ['controller-manager', 'driver-journal', 'driver-settings'],
    run: populateWithoutKubelet,
  },
  {
    id: 'N-14',
    title: 'the populator of the examples: a pod finds in its volume the text of a Hello, for which its claim asked',
    needs: ['kubelet'],
    run: populateOnNode,
  },
];

const workingNamespace = (ctx: ScenarioContext): string => ctx.nameOf('populating');

/** As its user would start it: from the package, with the rights that it needs. Returns when Hello is served. */
async function startPopulator(ctx: ScenarioContext): Promise<void> {
  const { api, testRun, scratch, cleanUp } = ctx;
  const namespace = workingNamespace(ctx);
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  cleanUp.defer(async () => void (await api.delete(namespaces, { name: namespace }).catch(ignoreNotFound)));
  await installHello(ctx);
  const account = await commandAccount(ctx, 'populator', rules);
  const kubeconfig = await kubeconfigOf(testRun.controlPlane, { account, name: 'populator', folder: scratch });
  cleanUp.use(
    await supervise(
      {
        name: 'populator',
        command: process.execPath,
        args: [join(repositoryRoot, 'packages', 'runtime', 'example', 'populator.ts')],
        env: {
          PATH: testRun.env['PATH'],
          KUBECONFIG: kubeconfig,
          NAMESPACE: namespace,
          POD_NAMESPACE: ctx.namespace,
          IMAGE: podImage,
          LISTEN: '',
        },
        logFile: join(ctx.folder, 'populator.log'),
      },
      testRun.clock,
    ),
  );
}

async function installHello(ctx: ScenarioContext): Promise<void> {
  const text = { type: 'string' };
  const spec = {
    type: 'object',
    properties: { fileName: text, fileContents: text },
    required: ['fileName', 'fileContents'],
  };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `hellos.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Hello', plural: 'hellos' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec }, required: ['spec'] } },
        },
      ],
    },
  };
  // It stays: a second scenario may use it.
  await installDefinition(ctx, definition, hellos);
}

async function createGreeting(ctx: ScenarioContext): Promise<void> {
  const spec = { fileName: 'greeting', fileContents: text };
  await ctx.create(hellos, {
    apiVersion: `${group}/v1`,
    kind: 'Hello',
    metadata: { name: 'greeting' },
    spec,
  } as KubeObject);
}

/** The scenario writes of pods what a kubelet would. */
async function populateWithoutKubelet(ctx: ScenarioContext): Promise<void> {
  await ctx.startDriver();
  await ctx.startProvisioner();
  await startPopulator(ctx);
  const className = await createClass(ctx);
  const { metadata } = await createClaim(ctx, className, { spec: { dataSourceRef } });
  const uid = metadata?.uid ?? '';
  // Nothing is done before the Hello is there.
  await ctx.consistently({ forMs: 2_000, check: async () => assert.equal(await primeOf(ctx, uid), undefined) });
  await createGreeting(ctx);
  const failed = await untilPod(ctx, uid);
  assert.deepEqual(
    failed.spec?.containers[0]?.env?.map(({ value }) => value),
    ['greeting', text],
  );
  await endAs(ctx, failed, { phase: 'Failed', message: 'no space' });
  const second = await untilPod(ctx, uid, failed.metadata?.uid);
  const prime = await ctx.eventually('prime is bound', async () => {
    const found = await primeOf(ctx, uid);
    return found?.status?.phase === 'Bound' ? found : undefined;
  });
  assert.deepEqual(
    (await eventsOf(ctx, 'PopulatorFailed')).map(({ message }) => message),
    ['Populator failed: no space'],
  );
  await endAs(ctx, second, { phase: 'Succeeded' });
  const { volume } = await untilBound(ctx);
  assert.equal(volume.metadata?.name, prime.spec?.volumeName);
  assert.equal(volume.metadata?.annotations?.[`${group}/populated-from`], `${ctx.namespace}/greeting`);
  await untilNothingWorks(ctx, uid);
  await deleteClaim(ctx);

  const abandoned = await createClaim(ctx, className, { name: 'abandoned', spec: { dataSourceRef } });
  await untilPod(ctx, abandoned.metadata?.uid ?? '');
  await deleteClaim(ctx, 'abandoned');
  await untilNothingWorks(ctx, abandoned.metadata?.uid ?? '');
  await ctx.eventually('no volume is left', async () =>
    (await ctx.api.list(persistentVolumes)).items.every(({ spec }) => spec?.csi?.driver !== ctx.driverName),
  );
}

async function primeOf(ctx: ScenarioContext, uid: string): Promise<PersistentVolumeClaim | undefined> {
  return await ctx.api
    .get(persistentVolumeClaims, { namespace: workingNamespace(ctx), name: `prime-${uid}` })
    .catch(ignoreNotFound);
}

async function populatingPod(ctx: ScenarioContext, uid: string): Promise<Pod | undefined> {
  return await ctx.api.get(pods, { namespace: workingNamespace(ctx), name: `populate-${uid}` }).catch(ignoreNotFound);
}

/** Another than that of this uid. */
async function untilPod(ctx: ScenarioContext, uid: string, other?: string): Promise<Pod> {
  return await ctx.eventually('a pod fills the volume', async () => {
    const pod = await populatingPod(ctx, uid);
    return pod?.metadata?.uid === other ? undefined : pod;
  });
}

async function endAs({ api }: ScenarioContext, { metadata }: Pod, status: NonNullable<Pod['status']>): Promise<void> {
  const ref = { namespace: metadata?.namespace, name: metadata?.name ?? '' };
  await api.patch({ resource: pods, ref }, { type: 'merge', body: { status } }, { subresource: 'status' });
}

async function untilNothingWorks(ctx: ScenarioContext, uid: string): Promise<void> {
  await ctx.eventually('pod, prime and finalizer are gone', async () => {
    const { items } = await ctx.api.list(persistentVolumeClaims, { namespace: ctx.namespace });
    const claim = items.find(({ metadata }) => metadata?.uid === uid);
    const isHeld = claim?.metadata?.finalizers?.some((name) => name.startsWith(group)) === true;
    return !isHeld && (await primeOf(ctx, uid)) === undefined && (await populatingPod(ctx, uid)) === undefined;
  });
}

async function populateOnNode(ctx: ScenarioContext): Promise<void> {
  const node = ctx.testRun.controlPlane.node?.name ?? '';
  await deployAll(ctx, { controllers: ['csi-provisioner', 'csi-attacher'] });
  await allowHostNetwork(ctx);
  await startPopulator(ctx);
  await createGreeting(ctx);
  const className = await createClass(ctx, { volumeBindingMode: 'WaitForFirstConsumer' });
  const { metadata } = await createClaim(ctx, className, { spec: { dataSourceRef } });
  await selectNode(ctx, 'claim', node);
  await untilBound(ctx, 'claim', 120_000);
  await untilNothingWorks(ctx, metadata?.uid ?? '');
  await startUser(ctx, {
    name: 'reader',
    volume: claimed('claim'),
    nodeName: node,
    script: ['echo "text $(cat /data/greeting)"'],
  });
  assert.equal(await untilSaid(ctx, 'reader', 'text'), text);
  await endPod(ctx, 'reader');
}

/** This node has no network of its own for pods. */
async function allowHostNetwork(ctx: ScenarioContext): Promise<void> {
  const name = `host-network-${randomUUID()}`;
  const policy = (plural: string, kind: string): Resource => ({
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural,
    kind,
    namespaced: false,
  });
  const created = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] };
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': workingNamespace(ctx) } };
  await ctx.create(policy('mutatingadmissionpolicies', 'MutatingAdmissionPolicy'), {
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [created], namespaceSelector },
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: 'Object{spec: Object.spec{hostNetwork: true}}' },
        },
      ],
    },
  } as KubeObject);
  await ctx.create(policy('mutatingadmissionpolicybindings', 'MutatingAdmissionPolicyBinding'), {
    metadata: { name },
    spec: { policyName: name },
  } as KubeObject);
}
