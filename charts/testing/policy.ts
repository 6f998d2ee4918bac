// SPDX-License-Identifier: Apache-2.0
/** Rules for rendered objects that hold for every chart, and the Pod Security levels as far as pods of charts can break them. */
import {
  containersOf,
  isWorkload,
  nameOf,
  podOf,
  type Container,
  type Manifest,
  type PodSpec,
  type Rule,
} from './manifest.ts';

export type SecurityLevel = 'restricted' | 'baseline' | 'privileged';

/** One line for each rule that an object breaks. */
export function violations(objects: readonly Manifest[], allowed: Allowance): readonly string[] {
  return objects.flatMap((object) => {
    const found = [...objectViolations(object)];
    if (isWorkload(object)) found.push(...podViolations(podOf(object), allowed));
    return found.map((text) => `${nameOf(object)}: ${text}`);
  });
}

export interface Allowance {
  /** Host paths, as patterns. */
  readonly hostPaths: readonly RegExp[];
  readonly hostNetwork: boolean;
  /** Containers without a probe, by name: something else watches them. */
  readonly unprobed: readonly string[];
  /** Containers that write to their root file system, by name. */
  readonly writable?: readonly string[];
}

function* objectViolations({ kind, rules = [], metadata }: Manifest): Iterable<string> {
  if (kind === 'ClusterRole' || kind === 'Role') {
    for (const rule of rules) yield* ruleViolations(rule);
  }
  for (const [name, value] of Object.entries(metadata.labels ?? {})) {
    if (!/^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/.test(value)) yield `label ${name} is not valid: ${value}`;
  }
}

function* ruleViolations({ apiGroups, resources, verbs }: Rule): Iterable<string> {
  if ([...apiGroups, ...resources, ...verbs].some((each) => each.includes('*'))) yield 'wildcard in a rule';
  const powers = verbs.filter((verb) => ['escalate', 'bind', 'impersonate'].includes(verb));
  if (powers.length > 0) yield `verbs ${powers.join(', ')}`;
  const readsAll = verbs.some((verb) => verb === 'list' || verb === 'watch');
  if (resources.includes('secrets') && readsAll) yield 'lists secrets';
}

function* podViolations(pod: PodSpec, allowed: Allowance): Iterable<string> {
  if (pod.automountServiceAccountToken !== false) yield 'the token of the account is mounted into every container';
  if (pod.hostNetwork === true && !allowed.hostNetwork) yield 'host network';
  for (const { name, hostPath } of pod.volumes ?? []) {
    if (hostPath === undefined || allowed.hostPaths.some((pattern) => pattern.test(hostPath.path))) continue;
    yield `volume ${name} is the host path ${hostPath.path}`;
  }
  const isWindows = pod.os?.name === 'windows';
  if (isWindows && pod.securityContext?.windowsOptions === undefined) yield 'no user of Windows';
  for (const container of containersOf(pod)) yield* containerViolations(container, allowed, isWindows);
  yield* repeated(
    'container',
    containersOf(pod).map(({ name }) => name),
  );
  yield* repeated(
    'volume',
    (pod.volumes ?? []).map(({ name }) => name),
  );
}

/** What an API server refuses or merges into one. */
function* repeated(what: string, names: readonly string[]): Iterable<string> {
  for (const name of new Set(names.filter((each, index) => names.indexOf(each) < index)))
    yield `two of ${what} ${name}`;
}

function* containerViolations(
  container: Container,
  { unprobed, writable = [] }: Allowance,
  isWindows: boolean,
): Iterable<string> {
  const { name, image, resources, securityContext, livenessProbe, readinessProbe, startupProbe } = container;
  if (!/(:[\w.-]+|@sha256:[a-f0-9]{64})$/.test(image)) yield `${name}: image without tag and digest: ${image}`;
  if (image.endsWith(':latest')) yield `${name}: image latest`;
  if (resources?.requests === undefined) yield `${name}: no requests`;
  if (resources?.limits?.['cpu'] !== undefined) yield `${name}: a CPU limit delays the renewal of a Lease`;
  if (securityContext === undefined && !isWindows) yield `${name}: no security context`;
  if (!isWindows && securityContext?.readOnlyRootFilesystem !== true && !writable.includes(name))
    yield `${name}: the root file system is writable`;
  if (livenessProbe === undefined && readinessProbe === undefined && !unprobed.includes(name))
    yield `${name}: no probe`;
  if ([livenessProbe, readinessProbe, startupProbe].some((probe) => probe?.exec !== undefined)) {
    yield `${name}: a probe that starts a process`;
  }
  if (container.terminationMessagePolicy !== 'FallbackToLogsOnError') yield `${name}: the last log lines are not kept`;
  const { env = [], ports = [], volumeMounts = [] } = container;
  yield* repeated(
    `${name}: variable`,
    env.map((each) => each.name),
  );
  yield* repeated(
    `${name}: port`,
    ports.map((each) => each.name),
  );
  yield* repeated(
    `${name}: port`,
    ports.map(({ containerPort, protocol = 'TCP' }) => `${containerPort} ${protocol}`),
  );
  yield* repeated(
    `${name}: mount`,
    volumeMounts.map(({ mountPath }) => mountPath),
  );
}

/** The strictest Pod Security level that admits a pod. */
export function securityLevelOf(pod: PodSpec): SecurityLevel {
  const containers = containersOf(pod);
  const isPrivileged =
    pod.hostNetwork === true ||
    pod.hostPID === true ||
    pod.hostIPC === true ||
    (pod.volumes ?? []).some(({ hostPath }) => hostPath !== undefined) ||
    containers.some(
      ({ securityContext }) =>
        securityContext?.privileged === true ||
        (securityContext?.capabilities?.add ?? []).length > 0 ||
        !['', 'container_t', 'container_init_t', 'container_kvm_t'].includes(
          securityContext?.seLinuxOptions?.type ?? '',
        ),
    );
  if (isPrivileged) return 'privileged';
  return containers.every((each) => isRestricted(each, pod)) ? 'restricted' : 'baseline';
}

function isRestricted({ securityContext: own = {} }: Container, { securityContext: shared = {} }: PodSpec): boolean {
  const runsAsUser = own.runAsUser ?? shared.runAsUser;
  return (
    (own.runAsNonRoot ?? shared.runAsNonRoot) === true &&
    runsAsUser !== 0 &&
    own.allowPrivilegeEscalation === false &&
    own.capabilities?.drop?.includes('ALL') === true &&
    ['RuntimeDefault', 'Localhost'].includes((own.seccompProfile ?? shared.seccompProfile)?.type ?? '')
  );
}
