// SPDX-License-Identifier: Apache-2.0
/**
 * The keys of a StorageClass's parameters: which are for us, which are sent to the driver. Keys with the reserved
 * prefix never reach the driver; deprecated spellings without it do, unchanged, because drivers rely on that.
 */
import { ok, refuse, type Result } from '@csi-sidecars/volume';
import { reservedPrefix } from '../names.ts';
import { deprecatedSecretKeys, secretKeys } from './secrets.ts';

export type ClassParameters = Readonly<Record<string, string>>;

const fsTypeKey = `${reservedPrefix}fstype`;
const reservedKeys: ReadonlySet<string> = new Set([fsTypeKey, ...secretKeys]);

/** Added for the driver by --extra-create-metadata. In a class they are unknown reserved keys like any other. */
export const metadataKeys = {
  claimName: 'csi.storage.k8s.io/pvc/name',
  claimNamespace: 'csi.storage.k8s.io/pvc/namespace',
  volumeName: 'csi.storage.k8s.io/pv/name',
} as const;

/** Empty if neither class nor default sets a type. */
export function toFsType(parameters: ClassParameters, defaultFsType: string): Result<string> {
  const values: string[] = [];
  for (const [key, value] of Object.entries(parameters)) {
    if (key === fsTypeKey || isDeprecatedFsType(key)) values.push(value);
  }
  if (values.length > 1) return refuse(`fstype specified in parameters with both "fstype" and "${fsTypeKey}" keys`);
  return ok(values[0] === undefined || values[0] === '' ? defaultFsType : values[0]);
}

/** The parameters that the driver gets. */
export function toDriverParameters(parameters: ClassParameters): Result<ClassParameters> {
  const unknown = Object.keys(parameters).find((key) => key.startsWith(reservedPrefix) && !reservedKeys.has(key));
  if (unknown !== undefined) {
    const found = `found unknown parameter key "${unknown}" with reserved namespace ${reservedPrefix}`;
    return refuse(`failed to strip CSI Parameters of prefixed keys: ${found}`);
  }
  return ok(Object.fromEntries(Object.entries(parameters).filter(([key]) => !key.startsWith(reservedPrefix))));
}

/** One text per deprecated key in use, for the log. */
export function deprecationWarnings(parameters: ClassParameters): readonly string[] {
  return Object.keys(parameters).flatMap((key) => {
    const replacement = isDeprecatedFsType(key) ? fsTypeKey : deprecatedSecretKeys.get(key);
    if (replacement === undefined) return [];
    return [`"${key}" is deprecated and will be removed in a future release, please use "${replacement}" instead`];
  });
}

function isDeprecatedFsType(key: string): boolean {
  return key.toLowerCase() === 'fstype';
}
