// SPDX-License-Identifier: Apache-2.0
/** What the driver said about itself at start-up, and what follows from it. */
export interface DriverFacts {
  readonly name: string;
  /** Names as in the CSI declaration, e.g. `CONTROLLER_SERVICE`. */
  readonly pluginCapabilities: ReadonlySet<string>;
  /** e.g. `CREATE_DELETE_VOLUME`. */
  readonly controllerCapabilities: ReadonlySet<string>;
}

/** In-tree plugins by the CSI driver that replaced them. */
const inTreePlugins: Readonly<Record<string, string>> = {
  'pd.csi.storage.gke.io': 'kubernetes.io/gce-pd',
  'ebs.csi.aws.com': 'kubernetes.io/aws-ebs',
  'cinder.csi.openstack.org': 'kubernetes.io/cinder',
  'disk.csi.azure.com': 'kubernetes.io/azure-disk',
  'file.csi.azure.com': 'kubernetes.io/azure-file',
  'csi.vsphere.vmware.com': 'kubernetes.io/vsphere-volume',
  'pxd.portworx.com': 'kubernetes.io/portworx-volume',
};

export function inTreePluginOf(driverName: string): string | undefined {
  return Object.hasOwn(inTreePlugins, driverName) ? inTreePlugins[driverName] : undefined;
}

/** The driver itself, or the in-tree plugin that it replaced. */
export function isKnownProvisioner(driverName: string, provisioner: string | undefined): boolean {
  return provisioner !== undefined && (provisioner === driverName || provisioner === inTreePluginOf(driverName));
}

/** What is missing to create or delete volumes at all; undefined when nothing is. */
export function missingCapability(driver: DriverFacts): string | undefined {
  const lacks = 'CSI driver does not support dynamic provisioning:';
  if (!driver.pluginCapabilities.has('CONTROLLER_SERVICE')) {
    return `${lacks} plugin CONTROLLER_SERVICE capability is not reported`;
  }
  if (!driver.controllerCapabilities.has('CREATE_DELETE_VOLUME')) {
    return `${lacks} controller CREATE_DELETE_VOLUME capability is not reported`;
  }
  return undefined;
}
