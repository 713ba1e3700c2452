/** A bundler plugin that puts the weights of the built-in model into a one-file bundle. */
export declare const inlineWeights: () => {
  readonly name: string
  readonly load: (id: string) => { readonly code: string; readonly moduleType: "js" } | null
}
