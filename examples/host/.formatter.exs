[
  inputs: ["{mix,.formatter}.exs", "{config,lib,stall,test,vendor}/**/*.{ex,exs}"],
  line_length: 110
]
