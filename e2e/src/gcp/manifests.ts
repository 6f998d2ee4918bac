// SPDX-License-Identifier: Apache-2.0
/**
 * What the GCE PD CSI driver's own manifests give its sidecars: arguments, rights, the CSIDriver object. They are read from the module
 * that e2e/tools/gcp-pd-driver pins, as the driver's overlay `stable-master` changes them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CSIDriver } from '@csi-sidecars/runtime';
import { load, loadAll } from 'js-yaml';
import { placed, type RbacObject } from '../rbac/profiles.ts';
import { gcpPdDriver } from '../tools/catalogue.ts';
import { downloadModule } from '../tools/go-module.ts';

export interface GcpManifests {
  readonly csiDriver: CSIDriver['spec'];
  /** The arguments of a container, where the socket of the driver is at `socket`. */
  argsOf(container: string, place: { readonly socket: string; readonly namespace: string }): readonly string[];
  /** One ServiceAccount for all sidecars, and what binds it. */
  rbac(namespace: string): readonly RbacObject[];
}

interface Container {
  readonly name: string;
  readonly args: string[];
}

interface Deployment {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
}

/** Such as "add an argument to the second container". */
interface Patch {
  readonly op: string;
  readonly path: string;
  readonly value: string;
}

interface Kustomization {
  readonly patchesJson6902: readonly { readonly path: string }[];
}

const account = 'csi-gce-pd-controller-sa';
const namespacedKinds: readonly string[] = ['ServiceAccount', 'Role', 'RoleBinding'];
const clusterKinds: readonly string[] = ['ClusterRole', 'ClusterRoleBinding'];

export async function readGcpManifests(): Promise<GcpManifests> {
  const module = await downloadModule({ family: gcpPdDriver.name, module: gcpPdDriver.module });
  const folder = join(module, 'deploy', 'kubernetes');
  const read = (...path: readonly string[]): string => readFileSync(join(folder, ...path), 'utf8');
  const base = (file: string): string => read('base', 'controller', file);
  const overlay = (file: string): string => read('overlays', 'stable-master', file);
  const { containers } = (load(base('controller.yaml')) as Deployment).spec.template.spec;
  for (const { path } of (load(overlay('kustomization.yaml')) as Kustomization).patchesJson6902) {
    for (const patch of load(overlay(path)) as readonly Patch[]) addArgument(containers, patch);
  }
  const objects = (loadAll(base('cluster_setup.yaml')) as RbacObject[]).filter(concernsController);
  return {
    csiDriver: (load(base('v1_csidriver.yaml')) as CSIDriver).spec,
    argsOf: (container, { socket, namespace }) => {
      const found = containers.find(({ name }) => name === container);
      if (found === undefined) throw new Error(`the manifest has no container ${container}`);
      return found.args.map((arg) => arg.replace('/csi/csi.sock', socket).replace('$(PDCSI_NAMESPACE)', namespace));
    },
    rbac: (namespace) => placed(objects.map(inSomeNamespace), namespace),
  };
}

function addArgument(containers: readonly Container[], { op, path, value }: Patch): void {
  const [, index] = /^\/spec\/template\/spec\/containers\/(\d+)\/args\/-$/.exec(path) ?? [];
  const container = containers[Number(index)];
  if (op !== 'add' || container === undefined) throw new Error(`the overlay has an unknown patch: ${op} ${path}`);
  container.args.push(value);
}

/** The same file sets up the driver's nodes, and priority classes. */
function concernsController({ kind, metadata, subjects }: RbacObject): boolean {
  if (kind === 'ServiceAccount') return metadata.name === account;
  if (subjects !== undefined) return subjects.some(({ name }) => name === account);
  return kind === 'ClusterRole' || kind === 'Role';
}

/** The overlay names the namespace of most of them. */
function inSomeNamespace(object: RbacObject): RbacObject {
  if (clusterKinds.includes(object.kind)) return object;
  if (!namespacedKinds.includes(object.kind)) throw new Error(`the manifest has an unknown kind: ${object.kind}`);
  return { ...object, metadata: { ...object.metadata, namespace: 'default' } };
}
