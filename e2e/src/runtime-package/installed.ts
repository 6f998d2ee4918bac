// SPDX-License-Identifier: Apache-2.0
/** An example as its author installs it: with the account and the rights that the package prints for it, and no others. */
import { join } from 'node:path';
import { type ApiClient, type KubeObject, namespaces, type Resource } from '@csi-sidecars/runtime';
import { loadAll } from 'js-yaml';
import { kubeconfigOf } from '../accounts/kubeconfig-of.ts';
import type { ControlPlane, ServiceAccountRef } from '../control-planes/control-plane.ts';
import type { Patience } from '../eventually.ts';
import { type ChildProcess, startProcess } from '../processes/child-process.ts';
import { csiRuntime, type Project } from './install.ts';

export interface ProgramChecks {
  readonly controlPlane: ControlPlane;
  readonly api: ApiClient;
  readonly patience: Patience;
  readonly project: Project;
  readonly check: (title: string, work: () => unknown) => Promise<void>;
  /** Logs of the processes are kept there. */
  readonly reports: string;
}

type Start = (name: string, example: string, env: Readonly<Record<string, string>>) => Promise<ChildProcess>;

/** Starts programs as that account. */
export async function installed(
  { controlPlane, api, patience, project, check, reports }: ProgramChecks,
  example: string,
  account: ServiceAccountRef,
): Promise<Start> {
  const { namespace, name } = account;
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await check(
    `the account, the roles and the Deployment that the package prints for ${name} are accepted`,
    async () => {
      const text = csiRuntime(
        project,
        'manifests',
        example,
        `--image=example.com/${name}:v1`,
        `--namespace=${namespace}`,
      );
      for (const object of loadAll(text) as readonly KubeObject[]) await api.create(resourceOf(object), object);
    },
  );
  const folder = join(project.folder, name);
  const kubeconfig = await kubeconfigOf(controlPlane, { account, name, folder });
  return (program, file, env) =>
    startProcess(
      {
        name: program,
        command: process.execPath,
        args: [file],
        env: { PATH: process.env['PATH'], KUBECONFIG: kubeconfig, POD_NAMESPACE: namespace, ...env },
        logFile: join(reports, 'runtime-package', `${program}.log`),
      },
      patience.clock,
    );
}

/** Plurals of the kinds that are printed are regular. */
export function resourceOf({ apiVersion = '', kind = '', metadata }: KubeObject): Resource {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: metadata?.namespace !== undefined };
}
