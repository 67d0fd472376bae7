// The bill of materials of the product, out of npm's bill of everything: npm's own `--omit=dev` leaves out whatever a
// tool of ours needs as well, express among it.

/** `packages` are those of the product; `missing` names what npm's bill does not have. */
export function productBill(bill, packages, name) {
  const wanted = new Set(packages.map((one) => `${one.name}@${one.version}`));
  const root = bill.metadata.component['bom-ref'];
  const isOurs = (ref) => ref === root || wanted.has(ref);
  const components = bill.components.filter((component) => isOurs(component['bom-ref']));
  const present = new Set(components.map((component) => component['bom-ref']));
  return {
    missing: [...wanted].filter((ref) => !present.has(ref)),
    bill: {
      ...bill,
      // npm takes the name of the folder.
      metadata: { ...bill.metadata, component: { ...bill.metadata.component, name } },
      components,
      dependencies: bill.dependencies
        .filter(({ ref }) => isOurs(ref))
        .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(isOurs) })),
    },
  };
}
