// SPDX-License-Identifier: Apache-2.0
/** Turns flags into settings. A command line that is refused here ends the program before any connection. */
import type { ProvisionerValues } from './flags.ts';
import { ok, refuse, type Result } from '@csi-sidecars/volume';
import type { NodeDeployment, ProvisionerSettings, ProvisioningProtection } from './settings.ts';

/** The length of a UID without its dashes. */
const uidDigits = 32;
const leastAuditMs = 10 * 60_000;

/** Why this command line cannot be run; undefined when it can. */
export function refusedFlags(values: ProvisionerValues): string | undefined {
  if (values['node-deployment'] && values['leader-election']) {
    return '--node-deployment and --leader-election exclude each other: every node needs an instance that works';
  }
  if (values['worker-threads'] <= 0) return '--worker-threads must be at least 1';
  if (values.timeout <= 0) return '--timeout must be greater than 0';
  if (values['enable-capacity']) {
    if (values['capacity-threads'] === 0) return '--capacity-threads must be at least 1';
    if (values['capacity-poll-interval'] <= 0) return '--capacity-poll-interval must be greater than 0';
    if (values['kube-api-capacity-qps'] > 0 && values['kube-api-capacity-burst'] < 1) {
      return '--kube-api-capacity-burst must be at least 1 while --kube-api-capacity-qps is positive';
    }
  }
  const length = values['volume-name-uuid-length'];
  if (length < -1 || length > uidDigits) {
    return `--volume-name-uuid-length must be between -1 and ${uidDigits}, not ${length}`;
  }
  const audit = values['audit-interval'];
  if (audit !== 0 && audit < leastAuditMs) return '--audit-interval must be 0 or at least 10m';
  if (protectionOf(values) === undefined) {
    const given = JSON.stringify(values['provisioning-protection']);
    return `--provisioning-protection must be ${protections.join(', ')}, not ${given}`;
  }
  return undefined;
}

const protections: readonly ProvisioningProtection[] = ['always', 'ambiguous', 'off'];

function protectionOf(values: ProvisionerValues): ProvisioningProtection | undefined {
  return protections.find((protection) => protection === values['provisioning-protection']);
}

export interface StartFacts extends Pick<ProvisionerSettings, 'features' | 'identity' | 'node'> {}

export function toSettings(values: ProvisionerValues, facts: StartFacts): ProvisionerSettings {
  const length = values['volume-name-uuid-length'];
  return {
    volumeNamePrefix: values['volume-name-prefix'],
    volumeNameUuidLength: length === -1 ? undefined : length,
    workerThreads: values['worker-threads'],
    retryIntervalStartMs: values['retry-interval-start'],
    retryIntervalMaxMs: values['retry-interval-max'],
    timeoutMs: values.timeout,
    strictTopology: values['strict-topology'],
    immediateTopology: values['immediate-topology'],
    extraCreateMetadata: values['extra-create-metadata'],
    controllerPublishReadonly: values['controller-publish-readonly'],
    preventsModeConversion: values['prevent-volume-mode-conversion'],
    defaultFsType: values['default-fstype'],
    provisioningProtection: protectionOf(values) ?? 'ambiguous',
    cloningProtectionThreads: values['cloning-protection-threads'],
    snapshotSweepIntervalMs: values['snapshot-orphan-sweep-interval'],
    auditIntervalMs: values['audit-interval'],
    ...facts,
  };
}

/** The node of this instance; undefined without `--node-deployment`, an error if the environment does not say which node it is. */
export function nodeNameOf(
  values: ProvisionerValues,
  env: Readonly<Record<string, string | undefined>>,
): Result<string | undefined> {
  if (!values['node-deployment']) return ok(undefined);
  const name = env['NODE_NAME'] ?? '';
  return name === ''
    ? refuse('The NODE_NAME environment variable must be set when using --node-deployment.')
    : ok(name);
}

/** As the bound of a claim that is being deleted; the instances do not all look at once. */
const patienceMs = 5 * 60_000;
const patienceSpreadMs = 60_000;

export interface NodeFacts extends Pick<NodeDeployment, 'name' | 'id' | 'segments'> {
  /** Between 0 and 1. */
  readonly random: number;
}

export function toNodeDeployment(values: ProvisionerValues, { random, ...node }: NodeFacts): NodeDeployment {
  return {
    ...node,
    bindsImmediately: values['node-deployment-immediate-binding'],
    baseDelayMs: values['node-deployment-base-delay'],
    maxDelayMs: values['node-deployment-max-delay'],
    patienceMs: patienceMs + random * patienceSpreadMs,
  };
}
