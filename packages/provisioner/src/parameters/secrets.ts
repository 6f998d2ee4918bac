// SPDX-License-Identifier: Apache-2.0
/**
 * The secrets a StorageClass configures, per purpose, each a pair of name and namespace template. A purpose without a
 * pair of its own falls back to the default pair; a broken pair of its own does not.
 */
import {
  ok,
  refuse,
  resolveSecret,
  type Result,
  type SecretReference,
  type SecretTemplate,
  secretTemplateOf,
} from '@csi-sidecars/volume';
import { reservedPrefix } from '../names.ts';
import { type ApiClient, isNotFound, readSecret as readValues, toError } from '@csi-sidecars/runtime';

export type SecretPurpose =
  | 'provisioner'
  | 'controllerPublish'
  | 'nodeStage'
  | 'nodePublish'
  | 'controllerExpand'
  | 'nodeExpand'
  | 'controllerModify';

interface Purpose {
  /** The name in upstream's messages. */
  readonly label: string;
  readonly name: string;
  readonly namespace: string;
  readonly deprecatedName?: string;
  readonly deprecatedNamespace?: string;
}

const fallbackPurpose: Purpose = {
  label: 'Default',
  name: `${reservedPrefix}secret-name`,
  namespace: `${reservedPrefix}secret-namespace`,
};
const purposes: Readonly<Record<SecretPurpose, Purpose>> = {
  provisioner: toPurpose('Provisioner', 'provisioner', 'csiProvisioner'),
  controllerPublish: toPurpose('ControllerPublish', 'controller-publish', 'csiControllerPublish'),
  nodeStage: toPurpose('NodeStage', 'node-stage', 'csiNodeStage'),
  nodePublish: toPurpose('NodePublish', 'node-publish', 'csiNodePublish'),
  controllerExpand: toPurpose('ControllerExpand', 'controller-expand'),
  nodeExpand: toPurpose('NodeExpand', 'node-expand'),
  controllerModify: toPurpose('ControllerModify', 'controller-modify'),
};
export const secretPurposes: readonly SecretPurpose[] = Object.keys(purposes) as SecretPurpose[];
const allPurposes: readonly Purpose[] = [fallbackPurpose, ...Object.values(purposes)];

/** Every key with the reserved prefix that configures a secret. */
export const secretKeys: readonly string[] = allPurposes.flatMap(({ name, namespace }) => [name, namespace]);

/** Deprecated spelling -> the key to use instead. The driver still gets the deprecated ones. */
export const deprecatedSecretKeys: ReadonlyMap<string, string> = new Map(
  allPurposes.flatMap(({ name, namespace, deprecatedName, deprecatedNamespace }) =>
    deprecatedName === undefined || deprecatedNamespace === undefined
      ? []
      : [[deprecatedName, name] as const, [deprecatedNamespace, namespace] as const],
  ),
);

function toPurpose(label: string, key: string, deprecated?: string): Purpose {
  return {
    label,
    name: `${reservedPrefix}${key}-secret-name`,
    namespace: `${reservedPrefix}${key}-secret-namespace`,
    ...(deprecated === undefined
      ? {}
      : { deprecatedName: `${deprecated}SecretName`, deprecatedNamespace: `${deprecated}SecretNamespace` }),
  };
}

/** The objects that templates may refer to. There are no annotations when a volume is deleted, because its claim is gone by then. */
export interface SecretSubject {
  readonly volumeName: string;
  readonly claimName: string;
  readonly claimNamespace: string;
  readonly claimAnnotations: Readonly<Record<string, string>>;
}

/** Undefined if the class configures no secret for this purpose. The secret itself need not exist. */
export function toSecretReference(
  parameters: Readonly<Record<string, string>>,
  purpose: SecretPurpose,
  subject: SecretSubject,
): Result<SecretReference | undefined> {
  const own = templateOf(parameters, purposes[purpose]);
  if (own.kind === 'error') return refuse(`failed to get name and namespace template from params: ${own.message}`);
  const fallback = own.value === undefined ? templateOf(parameters, fallbackPurpose) : own;
  if (fallback.kind === 'error') {
    return refuse(`failed to get default name and namespace template from params: ${fallback.message}`);
  }
  return fallback.value === undefined ? ok(undefined) : resolveSecret(fallback.value, tokensOf(subject));
}

function tokensOf(subject: SecretSubject): Parameters<typeof resolveSecret>[1] {
  const namespace = { 'pv.name': subject.volumeName, 'pvc.namespace': subject.claimNamespace };
  // Names and annotations are under the control of the claim's owner, so they never choose a namespace.
  const annotations = Object.entries(subject.claimAnnotations).map(([key, value]) => [
    `pvc.annotations['${key}']`,
    value,
  ]);
  return { namespace, name: { ...Object.fromEntries(annotations), ...namespace, 'pvc.name': subject.claimName } };
}

function templateOf(
  parameters: Readonly<Record<string, string>>,
  purpose: Purpose,
): Result<SecretTemplate | undefined> {
  return secretTemplateOf(parameters, {
    label: purpose.label,
    names: spellingsOf(purpose.deprecatedName, purpose.name),
    namespaces: spellingsOf(purpose.deprecatedNamespace, purpose.namespace),
  });
}

function spellingsOf(deprecated: string | undefined, key: string): readonly string[] {
  return deprecated === undefined ? [key] : [deprecated, key];
}

/** A secret as the string map that CSI calls take. */
export type SecretValues =
  | { readonly kind: 'found'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'missing'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

export async function readSecret(
  client: ApiClient,
  reference: SecretReference,
  signal: AbortSignal,
): Promise<SecretValues> {
  try {
    return { kind: 'found', values: await readValues(client, reference, { signal }) };
  } catch (error) {
    const what = `error getting secret ${reference.name} in namespace ${reference.namespace}`;
    return { kind: isNotFound(error) ? 'missing' : 'failed', message: `${what}: ${toError(error).message}` };
  }
}
