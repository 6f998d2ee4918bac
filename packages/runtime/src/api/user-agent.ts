// SPDX-License-Identifier: Apache-2.0
/**
 * The User-Agent as client-go builds it. The API server derives the field manager of writes from the part before the
 * first slash, and audit logs and dashboards key on it, so it begins with the upstream binary's name.
 */
export interface Build {
  /** The name of the program; of a path the last element counts. */
  readonly binary: string;
  readonly version: string;
  readonly commit: string;
}

export interface Machine {
  /** As `process.platform` and `process.arch` say. */
  readonly platform: string;
  readonly arch: string;
}

export function userAgent(build: Build, machine: Machine = process): string {
  const binary = orUnknown(build.binary.split('/').at(-1));
  const version = orUnknown(build.version.split('-')[0]);
  const commit = orUnknown(build.commit.slice(0, 7));
  const os = machine.platform === 'win32' ? 'windows' : machine.platform;
  const arch = goArchitectures[machine.arch] ?? machine.arch;
  return `${binary}/${version} (${os}/${arch}) kubernetes/${commit}`;
}

const goArchitectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

function orUnknown(part: string | undefined): string {
  return part === undefined || part === '' ? 'unknown' : part;
}
