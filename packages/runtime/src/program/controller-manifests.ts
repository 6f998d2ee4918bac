// SPDX-License-Identifier: Apache-2.0
/** What has to be in the cluster for a controller, from what it declares: rights that allow no more than it uses, and a Deployment. */
import type { ApiClient } from '../api/client.ts';
import type { Deployment, PodDisruptionBudget } from '../api/common-resources.ts';
import type { KubeObject } from '../api/objects.ts';
import { mergedRules, type PolicyRule } from '../api/policy-rule.ts';
import { systemClock } from '../clock/system-clock.ts';
import { systemRandom } from '../clock/system-random.ts';
import { leaseRules } from '../lease/lease-client.ts';
import { silentLogger } from '../log/logger.ts';
import { createController } from '../loop/create-controller.ts';
import type { Webhooks } from '../webhook/webhooks.ts';
import type { RunControllerOptions } from './options.ts';
import { watchesOf } from './watches-of.ts';
import { preStopSeconds, webhookConfigurations, webhookPod, webhookService } from './webhook-manifests.ts';

/** The options of `runController` that say what a controller uses of the API. */
export type Described = Pick<RunControllerOptions, 'name' | 'loops' | 'lease' | 'rules' | 'webhooks' | 'drainMs'>;

export interface ControllerAccess {
  /** For a ClusterRole. */
  readonly everywhere: readonly PolicyRule[];
  /** For a Role in each of these namespaces. */
  readonly inNamespaces: ReadonlyMap<string, readonly PolicyRule[]>;
}

export interface DeploymentOptions {
  readonly image: string;
  /** The Deployment is created there, and the lease as well unless it names another namespace. */
  readonly namespace: string;
  /** Default: two with a lease, one without. */
  readonly replicas?: number;
  /** Where `listen` serves; default 8080. */
  readonly port?: number;
  /** PEM of the issuers of the webhooks' certificate. Default: cert-manager's Certificate `NAME-webhooks` has them. */
  readonly caBundle?: string | undefined;
}

/** `namespace`: where the controller runs. */
export function controllerAccess({ name, loops, lease, rules = [] }: Described, namespace: string): ControllerAccess {
  const everywhere: PolicyRule[] = [];
  const inNamespaces = new Map<string, PolicyRule[]>();
  const place = (of: string | undefined): PolicyRule[] => {
    if (of === undefined) return everywhere;
    const own = inNamespaces.get(of) ?? [];
    inNamespaces.set(of, own);
    return own;
  };
  const watches = watchesOf({ client: unused, clock: systemClock(), random: systemRandom() }, (ports) => {
    const events = ports.recorderOf({ component: name });
    return createController(ports, typeof loops === 'function' ? loops({ ...ports, events }) : loops);
  });
  for (const { resource, namespace: watched } of watches) {
    place(watched).push({ apiGroups: [resource.group], resources: [resource.plural], verbs: ['list', 'watch'] });
  }
  for (const { namespace: of, ...rule } of rules) place(of).push(rule);
  if (lease !== undefined) {
    const ofLease = leaseRules.map(({ apiGroups, resources, verbs }) => ({ apiGroups, resources, verbs }));
    place(lease.namespace ?? namespace).push(...ofLease);
  }
  return {
    everywhere: mergedRules(everywhere),
    inNamespaces: new Map([...inNamespaces].map(([of, own]) => [of, mergedRules(own)])),
  };
}

/**
 * ServiceAccount, roles, their bindings and a Deployment, in the order in which they can be created. The namespaces have to be there. With more than
 * one replica also a PodDisruptionBudget. With webhooks also a Service and the configurations; the Deployment mounts their certificate from the Secret
 * `NAME-webhooks`.
 */
export function controllerManifests(described: Described, options: DeploymentOptions): readonly KubeObject[] {
  const { name } = described;
  const webhooks = declaredWebhooks(described);
  const { namespace, caBundle, replicas = described.lease === undefined ? 1 : 2 } = options;
  const { everywhere, inNamespaces } = controllerAccess(described, namespace);
  const account = { kind: 'ServiceAccount', name, namespace };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    ...(everywhere.length === 0 ? [] : roleAndBinding('ClusterRole', { name }, { rules: everywhere, account })),
    ...[...inNamespaces].flatMap(([of, rules]) => roleAndBinding('Role', { name, namespace: of }, { rules, account })),
    ...(webhooks === undefined ? [] : [webhookService({ name, namespace })]),
    ...(replicas > 1 ? [disruptionBudget({ name, namespace })] : []),
    deployment({ ...described, webhooks }, { ...options, replicas }),
    ...(webhooks === undefined ? [] : webhookConfigurations(webhooks, { name, namespace, caBundle })),
  ];
}

/** Nothing is asked of the API while manifests are made. */
const unused = {} as ApiClient;

function declaredWebhooks({ webhooks }: Pick<Described, 'webhooks'>): Webhooks | undefined {
  if (typeof webhooks !== 'function') return webhooks;
  return webhooks({ client: unused, clock: systemClock(), logger: silentLogger });
}

interface Binding extends KubeObject {
  readonly roleRef: object;
  readonly subjects: readonly object[];
}

function roleAndBinding(
  kind: 'ClusterRole' | 'Role',
  metadata: { readonly name: string; readonly namespace?: string },
  { rules, account }: { readonly rules: readonly PolicyRule[]; readonly account: object },
): readonly KubeObject[] {
  const group = 'rbac.authorization.k8s.io';
  const apiVersion = `${group}/v1`;
  const roleRef = { apiGroup: group, kind, name: metadata.name };
  const role: KubeObject & { readonly rules: readonly PolicyRule[] } = { apiVersion, kind, metadata, rules };
  const binding: Binding = { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects: [account] };
  return [role, binding];
}

const labelsOf = (name: string) => ({ 'app.kubernetes.io/name': name });

/** Nodes are drained one after the other. A pod that is not ready does not hold that up. */
function disruptionBudget({
  name,
  namespace,
}: Pick<DeploymentOptions, 'namespace'> & { name: string }): PodDisruptionBudget {
  const labels = labelsOf(name);
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace, labels },
    spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels: labels } },
  };
}

type PodSpec = NonNullable<NonNullable<Deployment['spec']>['template']['spec']>;

/** Each on a node of its own, where there are enough. Pods of an older ReplicaSet do not count. */
function spread(name: string): Required<Pick<PodSpec, 'topologySpreadConstraints'>> {
  const constraint = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: labelsOf(name) },
    matchLabelKeys: ['pod-template-hash'],
  };
  return { topologySpreadConstraints: [constraint] };
}

/** After `drainMs` the process still writes its log. */
const exitSeconds = 5;

function deployment(
  {
    name,
    webhooks,
    drainMs = 25_000,
  }: Pick<Described, 'name' | 'drainMs'> & { readonly webhooks: Webhooks | undefined },
  { image, namespace, replicas, port = 8080 }: DeploymentOptions & { readonly replicas: number },
): Deployment {
  const labels = labelsOf(name);
  const served = webhooks && webhookPod(webhooks, { name });
  const container = {
    name,
    image,
    env: [{ name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } }],
    ports: [{ name: 'metrics', containerPort: port }, ...(served ? [served.port] : [])],
    livenessProbe: { httpGet: { path: '/healthz', port: 'metrics' } },
    resources: { requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '256Mi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    ...served?.container,
  };
  const template = {
    metadata: { labels },
    spec: {
      serviceAccountName: name,
      terminationGracePeriodSeconds: (served ? preStopSeconds : 0) + Math.ceil(drainMs / 1000) + exitSeconds,
      ...(replicas > 1 && spread(name)),
      securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [container],
      ...(served && { volumes: served.volumes }),
    },
  };
  const spec = {
    replicas,
    selector: { matchLabels: labels },
    // A webhook is served all the time: the new pod is ready before the old one ends.
    ...(served && { strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } }),
    template,
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec,
  };
}
